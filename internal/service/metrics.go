package service

import (
	"cmp"
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lateness"
	"github.com/hazardd/hazardd/internal/poll"
	"github.com/hazardd/hazardd/internal/store"
)

// metrics makes what GET /metrics gives: what the parts count, and what they look like at the moment of asking.
func (s *Service) metrics() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), present{s})
	for _, list := range [][]prometheus.Collector{s.Store.Metrics(), s.Auth.Metrics(), s.webhooks.Metrics(), s.notify.Metrics(), s.Evidence.Metrics(), s.pictures.Metrics()} {
		r.MustRegister(list...)
	}
	return r
}

// askTime is how long the metrics wait for the store: what it does not tell in that time is not among them.
const askTime = 2 * time.Second

// present collects what is at the moment. Nothing in it tells of restricted products, of users, or of what an operator has not named himself.
type present struct{ *Service }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("hazardd_"+name, help, labels, nil)
}

var (
	buildInfo      = desc("build_info", "1; the labels say which program this is.", "version")
	viewChange     = desc("view_change", "The number of the change that this node's lists are as of.")
	viewAge        = desc("view_age_seconds", "For how long this node has not known that its lists are up to date.")
	activeHazards  = desc("active_hazards", "Active hazards by severity.", "severity")
	storeChange    = desc("store_change", "The number of the last change in the store.")
	diskRoom       = desc("disk_free_bytes", "Bytes that are left where the data folder is: the SQLite file, product files, what is being uploaded. Linux only.")
	dueSince       = desc("due_seconds", "For how long the recording of an end, or of another step that was due, has been waiting. Lists leave out what has ended all the same.")
	damagedHazards = desc("damaged_hazards", "Hazards whose rows are damaged, so that this node could not record their ends; the node that records them knows. See hazardd check.")
	damagedHeld    = desc("damaged_held_reports", "Reports that are held until something damaged is mended, and that are damaged themselves; the node that records ends knows. See hazardd check.")
	clockSkew      = desc("clock_skew_seconds", "By how much this machine's clock is ahead of the database's; 0 with SQLite.")
	clockStep      = desc("clock_step_seconds", "By how much this machine's clock is ahead of service time since it was set; 0 while it is followed.")
	clockSteps     = desc("clock_steps_total", "How often this machine's clock was set against its monotonic clock.")
	ready          = desc("ready", "1 if GET /readyz is 200, else 0.")
	connections    = desc("connections", "Connections that are open.")
	streams        = desc("streams", "Event streams that are open, and requests for GET /changes that wait.")
	leaseHeld      = desc("lease_held", "1 if this node is the one that does this: poll sources, deliver to webhooks, tell subscribers, count people, fetch pictures, sweep product files, prune, sweep evidence.", "lease")
	webhooks       = desc("webhooks", "Webhooks by status.", "status")
	subscriptions  = desc("subscriptions", "Subscriptions of all owners.")
	subscribed     = desc("subscription_channels", "Channels of subscriptions by kind and status; on the node that tells subscribers.", "channel", "status")
	noticesWaiting = desc("notices_waiting", "Notices to subscribers that wait, or are to be tried again, by channel.", "channel")
	draftsWaiting  = desc("drafts_waiting", "Decisions of editors that wait for a second person.")
	pending        = desc("webhook_deliveries_pending", "Deliveries to webhooks that wait, or are to be tried again.")
	sourceState    = desc("source_state", "1 for the state that the source is in, else 0.", "source", "state")
	sourceAge      = desc("source_age_seconds", "Since the source was last read; of several feeds, the one that is worst off. Not there before the first time.", "source")
	sourceFailures = desc("source_consecutive_failures", "Polls of the source that have failed in a row.", "source")
	sourcePush     = desc("source_push_up", "1 if the connection over which the source pushes is up, else 0; by address.", "source", "address")
	sourcePushed   = desc("source_pushed_messages_total", "Messages that the source has pushed, without heartbeats; by address. It starts anew when the address was given up.", "source", "address")
	sourceDocs     = desc("source_documents", "Documents that the indexes of the source announce: read, waiting, missing (waiting for too long, or could not be read so far), refused (at addresses that are not followed).", "source", "state")
	evidenceCount  = desc("evidence_payloads", "Payloads of sources that are kept as evidence.")
	evidenceSize   = desc("evidence_bytes", "Bytes of the payloads that are kept as evidence: as received, and as they are kept, compressed.", "form")
	historyKept    = desc("history_kept_from_timestamp_seconds", "From when on the history (audit: the audit trail) is kept whole; not there where nothing was pruned.", "of")
	prunedRows     = desc("pruned_rows_total", "Rows that this node has moved to archives.", "of")
	pruneFailures  = desc("prune_failures_total", "How often this node could not prune. Nothing is removed that no archive holds.")
	pictureCount   = desc("pictures", "Pictures that sources name, and that are kept.")
	pictureSize    = desc("pictures_bytes", "Bytes of the pictures that are kept.")
	evidenceOldest = desc("evidence_age_seconds", "Age of the oldest evidence; not there without any.")
	backupAge      = desc("backup_age_seconds", "How old the continuous backup is: whatever was committed before is in it. Since the start, if nothing is in it yet.")
	backupFailures = desc("backup_failures_total", "How often the continuous backup could not be written, and was tried again.")
	backupBytes    = desc("backup_bytes_total", "Bytes that were written to the continuous backup.")
	certificateEnd = desc("tls_certificate_end_timestamp_seconds", "When the TLS certificate of this node ends, the first of them; not there without TLS.")
	reportDelay    = desc("report_delay_seconds", "How late reports of the source are, on this node: committed, from when the source issued them until they were committed; sent, from then until they were written to an event stream.", "source", "stage")
	sourceRecords  = desc("source_records_total", "What became of the records of the source, by whichever node read them.", "source", "result")
)

// Describe implements prometheus.Collector.
func (present) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{buildInfo, viewChange, viewAge, activeHazards, storeChange, diskRoom, dueSince, damagedHazards, damagedHeld, clockSkew, clockStep, clockSteps, ready, connections, streams, leaseHeld, webhooks, pending, subscriptions, subscribed, noticesWaiting, sourceState,
		sourceAge, sourceFailures, sourcePush, sourcePushed, sourceDocs, sourceRecords, evidenceCount, evidenceSize, evidenceOldest, pictureCount, pictureSize, historyKept, prunedRows, pruneFailures, backupAge, backupFailures, backupBytes, certificateEnd, reportDelay} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (s present) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	now := s.Now()
	gauge(buildInfo, 1, cmp.Or(s.cfg.Version, "dev"))
	gauge(ready, one(s.ready() == nil))
	if free, ok := diskFree(s.cfg.DataDir); ok {
		gauge(diskRoom, float64(free))
	}
	if s.proof != nil {
		if end, ok := s.proof.End(); ok {
			gauge(certificateEnd, float64(end.Unix()))
		}
	}
	gauge(clockSkew, time.Duration(s.skew.Load()).Seconds())
	step, steps := s.cfg.Clock.Step()
	gauge(clockStep, step.Round(time.Millisecond).Seconds())
	to <- prometheus.MustNewConstMetric(clockSteps, prometheus.CounterValue, float64(steps))
	gauge(connections, float64(s.conns.Count()))
	gauge(streams, float64(s.push.Streams()))

	view := s.live.View(now)
	gauge(viewChange, float64(view.Number()))
	gauge(viewAge, max(0, now.Time().Sub(s.live.ReadAt().Time()).Seconds()))
	active := view.Severities()
	for _, severity := range hazard.Severities() {
		gauge(activeHazards, float64(active[severity.Severity]), severity.ID)
	}
	leases := s.Store.Leases(hazard.At(time.Now()))
	for _, name := range []string{"poll", "webhooks", "notices", "exposure", "pictures", sweepLease, pruneLease, evidenceLease} {
		gauge(leaseHeld, one(leases[name]), name)
	}
	s.sourcesTo(to, gauge, now)
	s.delays.All(func(source string, stage lateness.Stage, buckets map[float64]uint64, count uint64, sum float64) {
		to <- prometheus.MustNewConstHistogram(reportDelay, count, sum, buckets, source, string(stage))
	})
	to <- prometheus.MustNewConstMetric(prunedRows, prometheus.CounterValue, float64(s.pruned.history.Load()), string(store.History))
	to <- prometheus.MustNewConstMetric(prunedRows, prometheus.CounterValue, float64(s.pruned.audit.Load()), string(store.Trail))
	to <- prometheus.MustNewConstMetric(pruneFailures, prometheus.CounterValue, float64(s.pruned.failures.Load()))
	if b := s.backup; b != nil {
		gauge(backupAge, b.Age().Seconds())
		to <- prometheus.MustNewConstMetric(backupFailures, prometheus.CounterValue, float64(b.Failures()))
		to <- prometheus.MustNewConstMetric(backupBytes, prometheus.CounterValue, float64(b.Written()))
	}
	s.askedTo(gauge)
}

// sourcesTo collects the states of the sources as they were read last.
func (s present) sourcesTo(to chan<- prometheus.Metric, gauge func(*prometheus.Desc, float64, ...string), now hazard.Instant) {
	for _, source := range s.cfg.Known.statusesOf(*s.kept.Load(), s.cfg.Sources, now) {
		for _, state := range []string{poll.OK, poll.Stale, poll.Failing, poll.Starting, poll.Unheard, poll.Disabled} {
			gauge(sourceState, one(source.State == state), source.Name, state)
		}
		if source.LastSuccess != nil {
			gauge(sourceAge, max(0, now.Time().Sub(*source.LastSuccess).Seconds()), source.Name)
		}
		gauge(sourceFailures, float64(source.Failures), source.Name)
		for _, p := range source.Pushes {
			gauge(sourcePush, one(p.State == poll.OK), source.Name, p.URL)
			to <- prometheus.MustNewConstMetric(sourcePushed, prometheus.CounterValue, float64(p.Messages), source.Name, p.URL)
		}
		docs := source.Documents
		for state, n := range map[string]int{"read": docs.Read, "waiting": docs.Waiting, "missing": docs.Missing, "refused": docs.Refused} {
			gauge(sourceDocs, float64(n), source.Name, state)
		}
		for result, n := range map[string]int64{"read": source.Total.Read, "new": source.Total.New, "updated": source.Total.Updated, "unchanged": source.Total.Unchanged,
			"ignored": source.Total.Ignored, "held": source.Total.Held, "rejected": source.Total.Rejected, "ended": source.Total.Ended} {
			to <- prometheus.MustNewConstMetric(sourceRecords, prometheus.CounterValue, float64(n), source.Name, result)
		}
	}
}

// askedTo collects what the store must be asked for. While it is away there is no such series: an old figure would look like a new one.
func (s present) askedTo(gauge func(*prometheus.Desc, float64, ...string)) {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	if last, err := s.Store.Last(ctx); err == nil {
		gauge(storeChange, float64(last))
	}
	gauge(damagedHazards, float64(len(s.intake.Damaged())))
	gauge(damagedHeld, float64(len(s.intake.Unreadable())))
	if at, due, err := s.intake.NextMoment(ctx); err == nil {
		late := 0.0
		if due {
			late = max(0, s.Now().Time().Sub(at.Time()).Seconds())
		}
		gauge(dueSince, late)
	}
	if count, bytes, err := s.Store.PictureUsage(ctx); err == nil {
		gauge(pictureCount, float64(count))
		gauge(pictureSize, float64(bytes))
	}
	if use, err := s.Store.EvidenceUsage(ctx); err == nil {
		gauge(evidenceCount, float64(use.Payloads))
		gauge(evidenceSize, float64(use.Bytes), "received")
		gauge(evidenceSize, float64(use.Kept), "kept")
		if use.Oldest != 0 {
			gauge(evidenceOldest, max(0, s.Now().Time().Sub(use.Oldest.Time()).Seconds()))
		}
	}
	for _, what := range []store.Prunable{store.History, store.Trail} {
		if h, err := s.Store.Horizon(ctx, what); err == nil && h.Kept != hazard.MinInstant {
			gauge(historyKept, float64(h.Kept.Time().Unix()), string(what))
		}
	}
	byStatus, waiting, err := s.webhooks.Count(ctx)
	if err != nil {
		return
	}
	for status, n := range byStatus {
		gauge(webhooks, float64(n), string(status))
	}
	gauge(pending, float64(waiting))
	if n, err := s.Store.CountWaitingDrafts(ctx, s.Now()); err == nil {
		gauge(draftsWaiting, float64(n))
	}
	_ = s.notify.Count(ctx, func(n float64) { gauge(subscriptions, n) }, func(n float64, channel string) { gauge(noticesWaiting, n, channel) },
		func(n float64, channel, status string) { gauge(subscribed, n, channel, status) }) // what cannot be read is left out
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
