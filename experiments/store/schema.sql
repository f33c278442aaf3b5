-- The store of one run (run.sqlite). Plans, walks and structured values are JSON text.

CREATE TABLE run (
    id              INTEGER PRIMARY KEY CHECK (id = 1),
    created_at      TEXT NOT NULL,      -- ISO 8601, UTC
    options         TEXT NOT NULL,
    seed            INTEGER NOT NULL,
    source_hash     TEXT NOT NULL,      -- SHA-256 of the file's bytes
    source_text     TEXT NOT NULL,
    program         TEXT NOT NULL,
    program_digest  TEXT NOT NULL,
    device          TEXT NOT NULL,
    device_key      TEXT NOT NULL,
    compiler        TEXT NOT NULL,      -- of the sequential program
    sequential_ms   TEXT NOT NULL       -- JSON list of samples
);

-- One row per process that worked on the run; `ending` stays NULL when it was killed.
CREATE TABLE session (
    number       INTEGER PRIMARY KEY,
    started_at   TEXT NOT NULL,
    budget       TEXT NOT NULL,
    environment  TEXT NOT NULL,
    driver       TEXT NOT NULL,
    ending       TEXT CHECK (ending IN ('finished', 'exhausted', 'interrupted'))
);

-- `asked` is what the explorer was asked for: replay must ask the same again. Iteration 0 is the default plan.
CREATE TABLE iteration (
    number  INTEGER PRIMARY KEY,
    asked   INTEGER NOT NULL
);

CREATE TABLE evaluation (
    number       INTEGER PRIMARY KEY,
    iteration    INTEGER NOT NULL REFERENCES iteration (number),
    ant          INTEGER NOT NULL,
    walk         TEXT NOT NULL,
    plan         TEXT NOT NULL,
    plan_digest  TEXT NOT NULL,
    UNIQUE (iteration, ant)
);

-- An evaluation without an outcome was asked for but not finished.
CREATE TABLE outcome (
    evaluation     INTEGER PRIMARY KEY REFERENCES evaluation (number),
    kind           TEXT NOT NULL,
    message        TEXT,
    phase          TEXT,
    limit_s        REAL,
    median_ms      REAL,
    low_ms         REAL,
    high_ms        REAL,
    host_ms        REAL,
    samples_ms     TEXT,
    kernels        TEXT,               -- JSON list of [statements, median ms, {metric: value}]
    code_hash      TEXT,
    stopped_early  INTEGER,
    generate_s     REAL NOT NULL,
    compile_s      REAL NOT NULL,
    check_s        REAL NOT NULL,
    time_s         REAL NOT NULL,
    finished_at    TEXT NOT NULL,
    elapsed_s      REAL NOT NULL        -- active seconds of the run, over all sessions
);

PRAGMA user_version = 1;
