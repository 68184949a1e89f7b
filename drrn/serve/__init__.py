"""`drrn serve`: a local page where stories are played, tested, learned and explained. This is its server.

The process that answers requests plays no story and loads no weights: games, agents and play-tests live in worker
processes that can be ended, and training in processes of their own, which outlive the server.
"""
