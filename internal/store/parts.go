package store

// Hazards reads the present states of hazards and products, active or not, and the geometries they
// refer to. Methods that take orgs return only what a member of these organizations may see.
type Hazards struct{ *core }

// Log reads the change log: the numbered changes in commit order, without gaps except at forks, and
// the states of hazards and products as of a change or a moment. What it returned once stays true
// until another history replaces it; see ForkedError.
type Log struct{ *core }

// Search finds hazards by area, time, words and filters, now or as of a moment. All pages of one
// search belong to one moment.
type Search struct{ *core }

// Reports reads what sources have reported: their events, the latest report of each part of an
// event, and the reports that are held until someone decides. Tx.Events and Tx.Reports write them.
type Reports struct{ *core }

// Sources keeps what each source needs between polls: its state, its latest errors, and the places
// that its codes stand for.
type Sources struct{ *core }

// Subscriptions keeps who is notified of what. Each change gets a higher version, so that every
// node notices it.
type Subscriptions struct{ *core }

// Notices is the ledger of messages to people: what is still to be sent, with its attempts, and
// what each mailbox was last notified of. A notice that was added once is sent, or its
// failure is on record.
type Notices struct{ *core }

// Webhooks keeps webhooks and their deliveries. A delivery that was added once waits until it has
// succeeded or is given up.
type Webhooks struct{ *core }

// Files keeps the contents of product files, each once, under its digest. A content that no state
// refers to is removed some time after.
type Files struct{ *core }

// Assets keeps the assets of organizations, one set each. A set is replaced as a whole, and read as
// of one moment.
type Assets struct{ *core }

// Drafts keeps changes that wait for the approval of a second person. A draft is decided once.
type Drafts struct{ *core }

// Evidence keeps what sources sent: one receipt per answer, and each payload once.
type Evidence struct{ *core }

// Pictures keeps records of the pictures made of products; the pictures are files of package
// picture.
type Pictures struct{ *core }

// Pruning removes old states and audit rows that an archive holds. Reads of the removed past are
// refused with a *PrunedError, never answered incompletely.
type Pruning struct{ *core }

// Publishing keeps the profiles under which organizations publish CAP messages, with the earlier
// ones.
type Publishing struct{ *core }

// Accounts keeps users, organizations, keys, sessions and the audit trail. It is an auth.Store.
type Accounts struct{ *core }

// open makes the parts of s.
func (s *Store) open(c *core) {
	c.store, s.core = s, c
	s.Hazards, s.Log, s.Search = &Hazards{c}, &Log{c}, &Search{c}
	s.Reports, s.Sources, s.Leases = &Reports{c}, &Sources{c}, &Leases{core: c}
	s.Subscriptions, s.Notices, s.Webhooks = &Subscriptions{c}, &Notices{c}, &Webhooks{c}
	s.Files, s.Assets, s.Drafts = &Files{c}, &Assets{c}, &Drafts{c}
	s.Evidence, s.Pictures, s.Pruning = &Evidence{c}, &Pictures{c}, &Pruning{c}
	s.Publishing, s.Accounts = &Publishing{c}, &Accounts{c}
	s.Quarantine = &Quarantine{core: c, found: map[string]damage{}}
}

// TxEvents reads and writes events of sources in a transaction: their keys and references, the
// hazards they belong to, and the verdicts about pairs of them.
type TxEvents struct{ *txn }

// TxReports reads and writes reports of sources in a transaction: the latest of each part of an
// event, and those that are held.
type TxReports struct{ *txn }

// TxMerges keeps in a transaction what merges and splits have moved, so that they can be undone.
type TxMerges struct{ *txn }
