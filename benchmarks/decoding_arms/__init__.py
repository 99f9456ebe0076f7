"""What decodes the same sources: this library and its peers, one file each."""
