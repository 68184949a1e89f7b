"""Tables, figures and pages, made from the experiments' rows alone."""
