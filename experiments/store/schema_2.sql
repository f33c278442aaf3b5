-- What store version 2 has beyond version 1. A new store is schema.sql and this; an old one gets this when it is written to.

-- Which device an outcome comes from; NULL where a run has one device only.
ALTER TABLE outcome ADD COLUMN device TEXT;

-- The best plans of a run, measured again in turns at the end of a session.
CREATE TABLE final (
    number      INTEGER PRIMARY KEY,
    started_at  TEXT NOT NULL
);

-- One row per sitting (a process in which they were timed in turns) and finalist; the columns are those of `outcome`.
-- Samples at the same position of samples_ms belong to the same round.
CREATE TABLE finalist (
    final          INTEGER NOT NULL REFERENCES final (number),
    sitting        INTEGER NOT NULL,
    evaluation     INTEGER NOT NULL REFERENCES evaluation (number),
    kind           TEXT NOT NULL,
    message        TEXT,
    phase          TEXT,
    limit_s        REAL,
    median_ms      REAL,
    low_ms         REAL,
    high_ms        REAL,
    host_ms        REAL,
    samples_ms     TEXT,
    kernels        TEXT,
    code_hash      TEXT,
    stopped_early  INTEGER,
    generate_s     REAL NOT NULL,
    compile_s      REAL NOT NULL,
    check_s        REAL NOT NULL,
    time_s         REAL NOT NULL,
    device         TEXT,
    PRIMARY KEY (final, sitting, evaluation)
);

-- What a profiler counted while a plan ran (not while it was timed), or why it could not.
CREATE TABLE profile (
    evaluation  INTEGER PRIMARY KEY REFERENCES evaluation (number),
    source      TEXT,               -- perf, ncu; NULL where nothing was counted
    message     TEXT,               -- why not
    kernels     TEXT                -- JSON list of [statements, {metric: value}]
);

PRAGMA user_version = 2;
