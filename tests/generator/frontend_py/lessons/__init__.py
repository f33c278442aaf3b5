"""Halide's tutorial, lessons 1 to 14, in our own words: short pipelines that give the same under both languages."""
