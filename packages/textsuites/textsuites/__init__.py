"""Games of other projects' suites: TextWorldExpress, TextWorld, Jericho, ScienceWorld."""
