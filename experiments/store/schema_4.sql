-- What store version 4 has beyond version 3.

-- Times of other builds of the original program (generator.problem.Baseline), a JSON list; NULL where an older version began the run.
ALTER TABLE run ADD COLUMN baselines TEXT;

PRAGMA user_version = 4;
