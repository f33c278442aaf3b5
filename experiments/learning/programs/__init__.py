"""Programs to learn from; `collect` reads them as files of pipelines, as it does those of users."""
