"""The tags of an HTML page."""

from html.parser import HTMLParser


class Tags(HTMLParser):
    """The tags, their attributes and the text of a page; fails if a tag is not closed."""

    VOID = frozenset("meta link br hr img input rect path circle line".split())

    def __init__(self, text):
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.names.append(tag)
        self.attributes += [name for name, _ in attributes]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
