"""Join a key and scores: in memory into arrays, and in parts into a Parquet file."""
