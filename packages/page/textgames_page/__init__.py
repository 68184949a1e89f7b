"""The command `serve`: a local page to play, test and explain stories, and to train agents.

The process that answers requests plays no story and loads no weights. Games, agents and play-tests
run in worker processes that can be killed. Training runs in processes that outlive the server.

Stories and agents are parts of other products. Modules of these are imported where they are used,
so that the page starts without them. See `products`.
"""
