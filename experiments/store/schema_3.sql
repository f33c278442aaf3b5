-- What store version 3 has beyond version 2.

-- The run directory from which an outcome was taken over; NULL where it was measured by this run.
ALTER TABLE outcome ADD COLUMN reused_from TEXT;

-- What other runs knew when this one began (tune --reuse): their outcomes by plan, copied, so that they may go.
-- The columns between `source` and the end are those of `outcome`.
CREATE TABLE known (
    plan_digest    TEXT PRIMARY KEY,
    source         TEXT NOT NULL,
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
    device         TEXT
);

-- Iterations up to this one were told to the explorer as somebody else's walks (resume --anyway): another version of
-- antune would not ask for them again.
CREATE TABLE adopted (
    iteration  INTEGER PRIMARY KEY,
    at         TEXT NOT NULL
);

PRAGMA user_version = 3;
