package store

import (
	"context"
	"slices"
)

// A redaction must reach every place that can hold a hazard's text. This file lists them all. Tests
// compare the list with the schema of both databases and with the files of a server.

// Holding says what a place holds of hazards, and how a redaction cleans it.
type Holding struct {
	Place string
	// Text says how a redaction removes the text there; empty: the place holds no text of hazards, and
	// Other says what it holds.
	Text  string
	Other string
}

// textColumns are the columns of text and bytes by table.
var textColumns = map[string]map[string]Holding{
	"meta":        {"name": other("fixed words"), "value": other("numbers and identifiers of the installation")},
	"counters":    {"name": other("fixed words")},
	"forks":       {"reason": other("fixed words")},
	"pruned":      {"what": other("fixed words"), "archive": other("the name of a file")},
	"leases":      {"name": other("fixed words"), "holder": other("the name of a process")},
	"users":       {"name": other("a username"), "body": other("an account"), "hash": other("the hash of a password")},
	"read_keys":   {"id": other("an identifier"), "username": other("a username"), "title": other("what its owner calls the key"), "sum": other("a hash"), "scope": other("fixed words")},
	"revocations": {"id": other("an identifier")},
	"sessions": {"id": other("an identifier"), "username": other("a username"), "parent": other("an identifier"), "refresh": other("an identifier"), "child": other("an identifier"),
		"addr": other("a network address"), "client": other("the name of a program"), "provider": other("an identifier")},
	"signing_keys":  {"id": other("an identifier"), "seed": other("a key")},
	"attempts":      {"key": other("a username or a network")},
	"organizations": {"acronym": other("an organization"), "name": other("an organization")},
	"audit": {"actor": other("a username"), "addr": other("a network address"), "action": other("fixed words"), "subject": other("identifiers"), "detail": other("identifiers, fields and counts"),
		"client": other("the name of a program"), "request": other("an identifier")},

	"hazards": {"uuid": other("an identifier"), "status": other("fixed words"), "type_id": other("fixed words"), "category_id": other("fixed words"), "source": other("the name of a source"),
		"body": text("the present state is rewritten")},
	"products": {"uuid": other("an identifier"), "body": text("the present state is rewritten")},
	"changes": {"kind": other("fixed words"), "actor": other("a username"), "addr": other("a network address"), "source": other("the name of a source"), "audience": other("numbers of organizations"),
		"body": text("every state since the beginning is rewritten")},
	"geometries": {"digest": other("a hash"), "geojson": other("coordinates")},
	"shapes":     {"digest": other("a hash"), "body": other("coordinates, times and values of cones, tracks and contours")},
	"event_keys": {"source": other("the name of a source"), "key": other("the name of an event at its source, which finds it"), "event": other("the same")},
	"events": {"source": other("the name of a source"), "event": other("the name of an event at its source, which finds it"), "type_id": other("fixed words"), "shapes": other("hashes"),
		"called": text("removed where it repeats the text"), "joined": text("removed where it repeats the text")},
	"event_refs": {"ref": other("names of an event at sources, which find it"), "source": other("the name of a source"), "event": other("the name of an event at its source")},
	"parted": {"source": other("the name of a source"), "event": other("the name of an event at its source"), "other_source": other("the name of a source"),
		"other_event": other("the name of an event at its source")},
	"merges": {"body": text("removed from the reasons why events belong together")},
	"splits": {"body": text("removed from the reasons why events belong together")},
	"reports": {"source": other("the name of a source"), "event": other("the name of an event at its source"), "part": other("the name of a message at its source"), "places": other("codes of places"),
		"payload": other("a hash"), "body": text("removed from the texts for people")},
	"held": {"source": other("the name of a source"), "event": other("the name of an event at its source"), "part": other("the name of a message at its source"), "decision": other("fixed words"),
		"decided_by": other("a username"), "reason": text("removed where it repeats the text"), "body": text("removed from the texts for people")},
	"source_errors": {"source": other("the name of a source"), "payload": other("a hash"), "record": text("emptied with the row if one of its columns repeats the text"),
		"reason": text("the same"), "raw": text("the same")},
	"source_states": {"name": other("the name of a source"), "body": other("times, counts and addresses of feeds")},
	"places":        {"source": other("the name of a source"), "code": other("the code of a place"), "name": other("the name of a place"), "geojson": other("coordinates")},

	"webhooks":      {"id": other("an identifier"), "owner": other("a username"), "body": other("an address and a filter")},
	"deliveries":    {"webhook": other("an identifier"), "state": other("fixed words"), "error": other("fixed words"), "message": other("an identifier")},
	"subscriptions": {"id": other("an identifier"), "owner": other("a username"), "body": other("what a person wants to be told of"), "sealed": other("encrypted addresses")},
	"notices": {"subscription": other("an identifier"), "channel": other("an identifier"), "lane": other("the name of a server"), "state": other("fixed words"), "kind": other("fixed words"),
		"error": other("what went wrong with sending"), "message": other("an identifier"), "said": other("levels, times and values"), "text": text("emptied, of all messages about the hazard")},
	"told":          {"subscription": other("an identifier"), "channel": other("an identifier"), "said": other("levels, times and values")},
	"confirmations": {"address": other("the hash of an address, or a network")},
	"drafts": {"id": text("the row is removed if the draft is about the hazard or repeats the text"), "deed": text("the same"), "subject": text("the same"), "body": text("the same"),
		"touched": text("the same"), "hazard": text("the same"), "shown": text("the same"), "author": text("the same"), "state": text("the same"), "decided_by": text("the same"), "reason": text("the same")},
	"draft_marks": {"draft": other("an identifier"), "kind": other("fixed words"), "who": other("a username")},
	"contents":    {"digest": other("a hash")},
	"publishing":  {"body": other("the profile of an organization")},
	"asset_sets":  {"state": other("fixed words"), "loaded_by": other("a username")},
	"assets":      {"id": other("an organization's own"), "name": other("an organization's own"), "kind": other("an organization's own"), "area": other("coordinates")},

	"payloads": {"sha256": text("the row is removed with its file"), "file": text("the same")},
	"receipts": {"source": other("the name of a source"), "kind": other("fixed words"), "feed": other("a hash"), "address": other("the address of a feed"),
		"subject": other("the name of an event at its source"), "payload": other("a hash"), "cut": other("fixed words"), "error": text("removed where it repeats the text")},
	"pictures": {"source": other("the name of a source"), "address": text("removed within a minute of its product's redaction"), "digest": other("a hash"), "media_type": other("a media type"),
		"error": other("what went wrong with fetching")},

	"searchable": {"type_id": other("fixed words"), "category_id": other("fixed words"), "source": other("the name of a source"),
		"name": text("written again with the present state")},
	"hazard_values": {"quantity": other("fixed words"), "type_id": other("fixed words")},
	// "words" in PostgreSQL; in SQLite the columns and the two hidden ones of a full-text table
	"hazard_words": {"words": text("written again with the present state; the pages with removed words are merged away"), "name": text("the same"), "description": text("the same")},
}

func text(how string) Holding   { return Holding{Text: how} }
func other(what string) Holding { return Holding{Other: what} }

// besideTables are the places outside of the tables. Names of files are relative to the data folder.
var besideTables = []Holding{
	{Place: "hazardd.db", Text: "deleted content is overwritten (secure_delete): free pages and free space in pages hold zeros"},
	{Place: "hazardd.db-wal", Text: "the write-ahead log is emptied, once nobody reads the old pages"},
	{Place: "hazardd.db-shm", Other: "the index of the write-ahead log"},
	{Place: "hazardd.db.last", Other: "the number of the last change"},
	{Place: "addresses.key", Other: "the key of subscribers' addresses"},
	{Place: "backing-up/", Text: "parts of the continuous backup on their way; the same as the backup"},
	{Place: "files/", Text: "the file of a product is removed unless another product has the same"},
	{Place: "evidence/", Text: "payloads of its sources that hold the text are removed whole; their receipts stay"},
	{Place: "pictures/", Text: "the picture of a product is removed within a minute"},
	{Place: "the continuous backup", Text: "starts again, then removes all that it held before: no earlier moment can be restored"},
	{Place: "memory: the view, encoded answers, tiles, published messages, recent changes", Text: "made again from the log, on all nodes"},
	{Place: "exports of hazards, feeds, CAP messages", Text: "made from the log whenever they are asked for"},
}

// Unreachable lists what a redaction cannot reach, for people.
func (s *Store) Unreachable() []string {
	list := []string{
		"messages that were sent: mails, text messages, notifications, posts in chats, calls of webhooks",
		"backups, exports and archives of pruned states that were made before, wherever they are",
		"other installations, programs and people that have read the text",
		"caches of proxies and browsers, and pages that keep the last view for when the server is away: until they ask again",
		"texts that people copied into other hazards and products: redact them there",
		"what the sources still send: a report or payload that comes later may hold the text again; redact again once they have stopped",
		"logs of the server and of proxies, where they quote a request",
		"buckets with versions or object locks, which keep removed contents as long as their own rules say",
	}
	if s.database.remote() {
		list = append(list, "old rows in the files and write-ahead logs of PostgreSQL, until VACUUM FULL and the end of their archives")
	}
	return list
}

// Inventory lists every place that the store knows that can hold text, with how a redaction cleans it.
func (s *Store) Inventory(ctx context.Context) (all []Holding, err error) {
	columns, err := s.textColumns(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range columns {
		h := textColumns[c.table][c.column]
		h.Place = c.table + "." + c.column
		all = append(all, h)
	}
	return append(all, besideTables...), nil
}

type tableColumn struct{ table, column string }

// textColumns lists the columns of the database that can hold text.
func (s *Store) textColumns(ctx context.Context) (list []tableColumn, err error) {
	tx, err := s.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	for _, name := range slices.Concat(transferred, notTransferred) {
		t, err := tableOf(ctx, tx, s.database, name)
		if err != nil {
			return nil, err
		}
		for _, c := range t.Columns {
			switch c.Type {
			case "bigint", "int", "boolean", "double precision", "real", "box", "int8range":
			default:
				list = append(list, tableColumn{name, c.Name})
			}
		}
	}
	return list, nil
}
