"""The paper's tables and figures: settings as data, results as rows, tables and drawings from the rows alone."""
