"""What is compared in the benchmark of training, one module for each library."""
