"""Newsboat, feedparser and rss2email read the feeds of active hazards. HAZARDD_URL is the service, with a key; HAZARDD_COUNT is the number of
its active hazards, of which HAZARDD_AREAS have an area; FOLDER is an empty one."""
import email
import email.policy
import mailbox
import os
import pathlib
import re
import sqlite3
import subprocess

import feedparser

url, count, areas = os.environ["HAZARDD_URL"], int(os.environ["HAZARDD_COUNT"]), int(os.environ["HAZARDD_AREAS"])
folder = pathlib.Path(os.environ["FOLDER"])
names = {f"Flood {i}" for i in range(count)}


def name(title: str) -> str:
    return re.match(r"Flood \d+", title).group()


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"HOME": str(folder), "XDG_CONFIG_HOME": f"{folder}/config", "XDG_DATA_HOME": f"{folder}/data"})
    assert done.returncode == 0, (command, done.returncode, done.stdout, done.stderr)
    return done.stdout


for form in ("atom", "rss"):
    address = f"{url}/hazards/active?f={form}&limit=1000"
    feed = feedparser.parse(address)
    assert not feed.bozo and feed.version == {"atom": "atom10", "rss": "rss20"}[form], (feed.get("bozo_exception"), feed.version)
    assert len({e.id for e in feed.entries}) == count and {name(e.title) for e in feed.entries} == names, [e.title for e in feed.entries[:3]]
    assert all(e.link.startswith("http") and e.get("updated_parsed", e.get("published_parsed")) for e in feed.entries), feed.entries[0]
    kinds = [e.where["type"] for e in feed.entries]
    assert (kinds.count("Polygon"), kinds.count("Point")) == (areas, count - areas), (form, kinds)
    first = next(e for e in feed.entries if name(e.title) == "Flood 0")
    assert tuple(first.where["coordinates"][0][0]) == (0, 40), first.where  # longitude first, as feedparser has it
    again = feedparser.parse(address, etag=feed.etag)
    assert again.status == 304 and not again.entries, again.status

    # Newsboat, twice: nothing is there twice.
    (folder / "urls").write_text(address + "\n")
    (folder / "config").write_text("")
    boat = ("newsboat", "-u", f"{folder}/urls", "-C", f"{folder}/config", "-c", f"{folder}/{form}.db", "-x", "reload")
    for _ in range(2):
        run(*boat)
        items = sqlite3.connect(f"{folder}/{form}.db").execute("SELECT title, url, pubDate FROM rss_item").fetchall()
        assert len(items) == count, (form, len(items))
        assert all(link.startswith("http") and date > 1_600_000_000 for _, link, date in items), items[0]
        assert {name(title) for title, *_ in items} == names, items[0]

    # rss2email, twice: a message for each hazard, and no second one.
    mail = f"{folder}/mail-{form}"
    (folder / f"{form}.cfg").write_text(f"[DEFAULT]\nfrom = hazardd@example.org\nto = me@example.org\nemail-protocol = maildir\nmaildir-path = {mail}\nmaildir-mailbox = inbox\n")
    mailbox.Maildir(mail).add_folder("inbox")
    r2e = ("r2e", "-c", f"{folder}/{form}.cfg", "-d", f"{folder}/{form}.json")
    run(*r2e, "add", form, address)
    for _ in range(2):
        run(*r2e, "run")
        got = [str(email.message_from_bytes(path.read_bytes(), policy=email.policy.default)["subject"]) for path in pathlib.Path(mail).rglob("new/*")]
        assert len(got) == count and {name(s) for s in got} == names, (form, len(got), got[:3])
