/* Work of streams as late as it may be, with $CUDA_DOUBLE_LATE: "default first" or "default last".
 *
 * Kernels and copies on the device wait in their stream until something is asked for that comes after them. The default
 * stream and those made without flags wait for each other, and nothing else does. When all must be done, streams that do
 * not wait for each other take turns, and the default one comes before or after them. So whatever depends on an order
 * that nobody asked for goes wrong with one of the two.
 */
static void done(Node *node);
static Stream standard, *streams;

static int late(void) { return getenv("CUDA_DOUBLE_LATE") != NULL; }

static int step(Stream *stream)
{
  Node *node = stream->late.first;
  if (!node) return 0;
  stream->late.first = node->next;
  done(node);
  free(node->arguments);
  free(node);
  return 1;
}

static void finish(Stream *stream) { while (step(stream)); }

/* The default stream, and those that it waits for. */
static void finish_default(void)
{
  finish(&standard);
  for (Stream *one = streams; one; one = one->next)
    if (!one->apart) finish(one);
}

static void finish_all(void)
{
  const char *order = getenv("CUDA_DOUBLE_LATE");
  if (order && !strcmp(order, "default first")) finish_default();
  for (int some = 1; some;) {
    some = 0;
    for (Stream *one = streams; one; one = one->next)
      if (one->apart) some |= step(one);
  }
  finish_default();
}

/* Something is freed that waiting work may use. */
static void finish_used(const char *what)
{
  for (Stream *one = &standard; one; one = one == &standard ? streams : one->next)
    if (one->late.first) note("%s in use", what);
  finish_all();
}

static void wait_late(Stream *stream, Node work)
{
  if (stream == &standard) {
    for (Stream *one = streams; one; one = one->next)
      if (!one->apart) finish(one);
  } else if (!stream->apart) finish(&standard);
  Node *kept = malloc(sizeof *kept), **end = &stream->late.first;
  *kept = work;
  kept->next = NULL;
  while (*end) end = &(*end)->next;
  *end = kept;
}
