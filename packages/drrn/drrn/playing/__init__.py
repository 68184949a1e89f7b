"""Episodes: policies that play games, one or thousands at a time, and evaluations."""
