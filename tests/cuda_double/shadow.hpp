// Who touched which memory: included by words.hpp, and of use in code that was compiled with -fsanitize=thread, which calls
// __tsan_read8 and the like before each access. Two accesses race if they are of different threads, one writes, and
// nothing orders them: no barrier of the block, no barrier of the warp; blocks of a launch have no order. Atomic operations
// race with plain reads and writes, not with each other. Of a word's reads, and of its atomic operations, two are kept that
// nothing orders, of different warps if there are such: blocks have warps of their own, and a later barrier of one warp
// orders nothing of another. So a later access that races with one that is not kept races with one that is, too. From the
// first access to a part of a word on, the word's bytes are watched one by one.
enum Kind { READ, WRITE, ATOMIC };
struct Access { unsigned block, epoch, warp_epoch; int thread; bool happened; };
struct Cell { uintptr_t word; bool parted; Access write, reads[2], atomics[2]; };
static Cell *cells;
static size_t room, used;
extern "C" char __bss_start[] __attribute__((visibility("hidden"))), _end[] __attribute__((visibility("hidden")));

static UNWATCHED void complain(const char *format, ...)
{
  char text[400];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  if (!failed) double_note(text);
  failed = true;
  double_fail(719);
}

static UNWATCHED void forget()
{
  if (used) memset(cells, 0, room * sizeof *cells);
  used = 0;
}

static UNWATCHED Cell &cell_of(uintptr_t word)
{
  if (2 * used >= room) {
    Cell *before = cells;
    const size_t had = room;
    room = room ? 2 * room : 1 << 12, used = 0;
    cells = (Cell *)calloc(room, sizeof *cells);
    for (size_t i = 0; i < had; ++i)
      if (before[i].word) cell_of(before[i].word) = before[i];
    free(before);
  }
  size_t at = (word * 0x9E3779B97F4A7C15u >> 20) & (room - 1);
  while (cells[at].word && cells[at].word != word) at = (at + 1) & (room - 1);
  used += !cells[at].word;
  cells[at].word = word;
  return cells[at];
}

static UNWATCHED bool ordered(const Access &before, bool shared)
{
  if (!before.happened || (before.block == block_number && before.thread == (int)current)) return true;
  if (before.block != block_number) return shared; // what is shared in another block is other memory
  if (before.epoch != epoch) return true;
  return before.thread / WARP == (int)current / WARP && before.warp_epoch != warp_epochs[current / WARP];
}

static UNWATCHED void race(const Access &before, const char *then, const char *now, bool shared)
{
  complain("%s: race in %s memory: thread %d of block %u %s what thread %zu of block %u %s, and no barrier is between", name,
           shared ? "shared" : "global", before.thread, before.block - 1, then, current, block_number - 1, now);
}

static UNWATCHED void compare(const Access (&before)[2], const char *then, const char *now, bool shared)
{
  for (const Access &one : before)
    if (!ordered(one, shared)) race(one, then, now, shared);
}

static UNWATCHED bool of_one_warp(const Access &one, const Access &other)
{
  return one.block == other.block && one.thread / WARP == other.thread / WARP;
}

static UNWATCHED void remember(Access (&known)[2], const Access &now, bool shared)
{
  if (ordered(known[0], shared)) known[0] = now;
  else if (ordered(known[1], shared) || of_one_warp(known[0], known[1])) known[1] = now;
}

static UNWATCHED void watched(Cell &cell, bool shared, Kind kind)
{
  static const char *const WORDS[] = {"reads", "writes", "updates"};
  const Access now = {block_number, epoch, warp_epochs[current / WARP], (int)current, true};
  if (!ordered(cell.write, shared)) race(cell.write, "writes", WORDS[kind], shared);
  if (kind != READ) compare(cell.reads, "reads", WORDS[kind], shared);
  if (kind != ATOMIC) compare(cell.atomics, "updates", WORDS[kind], shared);
  if (kind == WRITE) cell.write = now;
  else remember(kind == READ ? cell.reads : cell.atomics, now, shared);
}

static UNWATCHED uintptr_t key_of_byte(uintptr_t address)
{
  return ~address; // an address is never in the upper half, where these are
}

static UNWATCHED void part(uintptr_t word)
{
  Cell whole = cell_of(word);
  if (whole.parted) return;
  cell_of(word).parted = true;
  for (uintptr_t byte = word; byte < word + 4; ++byte) {
    whole.word = key_of_byte(byte);
    cell_of(whole.word) = whole;
  }
}

static UNWATCHED void touched(uintptr_t address, size_t size, Kind kind)
{
  if (!running || failed) return;
  const uintptr_t stack = (uintptr_t)fibers[current].stack;
  if (address >= stack && address < stack + STACK) return;
  const bool shared = address >= (uintptr_t)__bss_start && address < (uintptr_t)_end;
  const uintptr_t end = address + size;
  for (uintptr_t word = address & ~(uintptr_t)3; word < end; word += 4) {
    const uintptr_t first = word < address ? address : word, last = word + 4 > end ? end : word + 4;
    if (last - first < 4) part(word);
    Cell &cell = cell_of(word);
    if (!cell.parted) watched(cell, shared, kind);
    else for (uintptr_t byte = first; byte < last; ++byte) watched(cell_of(key_of_byte(byte)), shared, kind);
  }
}
} // namespace host; the calls below are the compiler's
#define WATCH(call, size, kind) extern "C" UNWATCHED void call(void *at) { host::touched((uintptr_t)at, size, host::kind); }
#define RANGE(call, kind) extern "C" UNWATCHED void call(void *at, long n) { host::touched((uintptr_t)at, n, host::kind); }
#define SIZES(size) \
  WATCH(__tsan_read##size, size, READ) WATCH(__tsan_unaligned_read##size, size, READ) \
  WATCH(__tsan_write##size, size, WRITE) WATCH(__tsan_unaligned_write##size, size, WRITE)
SIZES(1) SIZES(2) SIZES(4) SIZES(8) SIZES(16)
RANGE(__tsan_read_range, READ) RANGE(__tsan_write_range, WRITE)
extern "C" UNWATCHED void __tsan_init() {}
namespace host {
