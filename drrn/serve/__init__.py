"""`drrn serve`: a local page to play, test and explain stories, and to train agents.

The process that answers requests plays no story and loads no weights. Games, agents and play-tests
run in worker processes that can be killed; training runs in processes that outlive the server.
"""
