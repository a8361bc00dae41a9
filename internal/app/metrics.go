package app

import (
	"cmp"
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/poll/delay"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell/wis2"
)

// metrics returns the registry behind GET /metrics: the counters of all parts, and gauges that are
// read at each scrape.
func (s *Service) metrics() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), present{s})
	for _, list := range [][]prometheus.Collector{s.Store.Metrics(), s.Auth.Metrics(), s.webhooks.Metrics(), s.notify.Metrics(), s.Evidence.Metrics(), s.pictures.Metrics()} {
		r.MustRegister(list...)
	}
	if s.wis2 != nil {
		r.MustRegister(s.wis2.Metrics()...)
	}
	return r
}

// askTime bounds how long a scrape waits for the store. Metrics that the store does not deliver in
// time are left out.
const askTime = 2 * time.Second

// present collects the gauges of the present state. They reveal nothing about restricted products
// or users, and no name that the operator has not chosen.
type present struct{ *Service }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("hazardd_"+name, help, labels, nil)
}

var (
	buildInfo      = desc("build_info", "Always 1; the labels identify this program.", "version")
	viewChange     = desc("view_change", "Number of the change that this node's lists are as of.")
	viewAge        = desc("view_age_seconds", "Seconds since this node last confirmed that its lists are up to date.")
	activeHazards  = desc("active_hazards", "Active hazards by severity.", "severity")
	storeChange    = desc("store_change", "Number of the last change in the store.")
	diskRoom       = desc("disk_free_bytes", "Free bytes on the disk of the data folder, which holds the SQLite file, product files and uploads. Linux only.")
	dueSince       = desc("due_seconds", "How long the oldest due end, or other due step, has been waiting to be recorded. Lists leave out ended hazards all the same.")
	damagedHazards = desc("damaged_hazards", "Hazards whose ends this node could not record because their rows are damaged. Only the node that records ends counts them. See hazardd check.")
	damagedHeld    = desc("damaged_held_reports", "Held reports that wait for a repair and are damaged themselves. Only the node that records ends counts them. See hazardd check.")
	damagedRecords = desc("damaged_records", "Records that readers of this node left out because they are damaged: changes of the log and areas. Their neighbors go on. See hazardd check.")
	missingKeys    = desc("missing_keys", "Keys that the store needs and this node does not have. Without the key of the addresses nobody is told of whose subscription it holds, without that of Web Push no browser, and without that of CAP messages they are not signed. See GET /readyz.")
	clockSkew      = desc("clock_skew_seconds", "How far this machine's clock is ahead of the database's; 0 with SQLite.")
	clockStep      = desc("clock_step_seconds", "How far this machine's clock is ahead of service time since the clock was set; 0 while service time follows it.")
	clockSteps     = desc("clock_steps_total", "How often this machine's clock was found to be set, compared with its monotonic clock.")
	ready          = desc("ready", "1 if GET /readyz is 200, else 0.")
	connections    = desc("connections", "Open connections.")
	streams        = desc("streams", "Open event streams and waiting requests for GET /changes.")
	leaseHeld      = desc("lease_held", "1 if this node holds the lease of this work: poll sources, deliver to webhooks, notify subscribers, announce on WIS2, count people, fetch pictures, sweep product files, prune, send the audit trail, sweep evidence.", "lease")
	webhooks       = desc("webhooks", "Webhooks by status.", "status")
	subscriptions  = desc("subscriptions", "Subscriptions of all owners.")
	subscribed     = desc("subscription_channels", "Channels of subscriptions by kind and status; on the node that notifies subscribers.", "channel", "status")
	noticesWaiting = desc("notices_waiting", "Notices to subscribers that wait for their first or next attempt, by channel.", "channel")
	draftsWaiting  = desc("drafts_waiting", "Drafts of editors that wait for a second person.")
	draftOldest    = desc("draft_oldest_seconds", "Seconds since the oldest draft that waits for a second person was made; 0 if none waits.")
	pending        = desc("webhook_deliveries_pending", "Deliveries to webhooks that wait for their first or next attempt.")
	wis2Pending    = desc("wis2_notifications_pending", "Notifications on WIS2 that wait for their first or next attempt.")
	sourceWarns    = desc("source_warns", "1 for each country for which a polled source warns; without a country for the world.", "source", "country")
	sourceState    = desc("source_state", "1 for the present state of the source, 0 for others.", "source", "state")
	sourceSame     = desc("source_unchanged_seconds", "Seconds since an answer of the source last differed from the one before; with several feeds, of the one that changed last. Absent before the first.", "source")
	sourceAge      = desc("source_age_seconds", "Seconds since the source was last read; with several feeds, since the oldest of their last reads. Absent before the first read.", "source")
	sourceFailures = desc("source_consecutive_failures", "Consecutive failed polls of the source.", "source")
	sourcePush     = desc("source_push_up", "1 if the push connection of the source is up, else 0; by address.", "source", "address")
	sourcePushed   = desc("source_pushed_messages_total", "Messages pushed by the source, without heartbeats; by address. The count restarts after the address was given up.", "source", "address")
	sourceDocs     = desc("source_documents", "Documents announced by the indexes of the source: read, waiting, missing (waiting for too long, or not readable so far), refused (at addresses that are not followed).", "source", "state")
	evidenceCount  = desc("evidence_payloads", "Payloads of sources kept as evidence.")
	evidenceSize   = desc("evidence_bytes", "Bytes of the payloads kept as evidence: as received, and compressed as stored.", "form")
	historyKept    = desc("history_kept_from_timestamp_seconds", "Time from which the history (audit: the audit trail) is complete; absent if nothing was pruned.", "of")
	auditSent      = desc("audit_sent_total", "Rows of the audit trail that this node has sent on (--audit-to).")
	auditFailures  = desc("audit_send_failures_total", "Failures of this node to send the audit trail on. Nothing is dropped: rows wait in the store, for as long as the trail is kept.")
	prunedRows     = desc("pruned_rows_total", "Rows moved to archives by this node.", "of")
	pruneFailures  = desc("prune_failures_total", "Failed prunings on this node. Rows are removed only once an archive holds them.")
	pictureCount   = desc("pictures", "Stored pictures that sources link to.")
	pictureSize    = desc("pictures_bytes", "Bytes of the stored pictures.")
	evidenceOldest = desc("evidence_age_seconds", "Age of the oldest evidence; absent without any.")
	backupAge      = desc("backup_age_seconds", "Age of the continuous backup: it holds everything committed before. Counted from the start while it is empty.")
	backupFailures = desc("backup_failures_total", "Failed writes of the continuous backup; each is retried.")
	backupBytes    = desc("backup_bytes_total", "Bytes written to the continuous backup.")
	certificateEnd = desc("tls_certificate_end_timestamp_seconds", "When the TLS certificate of this node expires; of several, the first. Absent without TLS.")
	reportDelay    = desc("report_delay_seconds", "Delay of reports of the source, on this node: committed, from issue by the source to commit; sent, from commit to the write to an event stream.", "source", "stage")
	sourceRecords  = desc("source_records_total", "Records of the source by result, on all nodes together.", "source", "result")
)

// Describe implements prometheus.Collector.
func (present) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{buildInfo, viewChange, viewAge, activeHazards, storeChange, diskRoom, dueSince, damagedHazards, damagedHeld, damagedRecords, missingKeys, clockSkew, clockStep, clockSteps, ready, connections, streams, leaseHeld, webhooks, pending, wis2Pending, subscriptions, subscribed, noticesWaiting, sourceWarns, sourceState,
		sourceAge, sourceSame, sourceFailures, sourcePush, sourcePushed, sourceDocs, sourceRecords, evidenceCount, evidenceSize, evidenceOldest, pictureCount, pictureSize, historyKept, auditSent, auditFailures, prunedRows, pruneFailures, backupAge, backupFailures, backupBytes, certificateEnd, reportDelay} {
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
	gauge(missingKeys, float64(len(s.missingKeys())))
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
	leases := s.Store.Leases.Held(hazard.At(time.Now()))
	for _, name := range []string{"poll", "webhooks", "notices", wis2.Name, "exposure", "pictures", sweepLease, pruneLease, auditLease, evidenceLease} {
		gauge(leaseHeld, one(leases[name]), name)
	}
	s.sourcesTo(to, gauge, now)
	s.delays.All(func(source string, stage delay.Stage, buckets map[float64]uint64, count uint64, sum float64) {
		to <- prometheus.MustNewConstHistogram(reportDelay, count, sum, buckets, source, string(stage))
	})
	to <- prometheus.MustNewConstMetric(auditSent, prometheus.CounterValue, float64(s.audited.sent.Load()))
	to <- prometheus.MustNewConstMetric(auditFailures, prometheus.CounterValue, float64(s.audited.failures.Load()))
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

// sourcesTo collects the states of the sources from the last read.
func (s present) sourcesTo(to chan<- prometheus.Metric, gauge func(*prometheus.Desc, float64, ...string), now hazard.Instant) {
	for _, source := range s.cfg.Known.chosen(s.cfg.Sources) {
		if !source.Warns || source.Disabled {
			continue
		}
		for _, country := range source.Countries {
			gauge(sourceWarns, 1, source.Name, country)
		}
		if len(source.Countries) == 0 {
			gauge(sourceWarns, 1, source.Name, "")
		}
	}
	for _, source := range s.cfg.Known.statusesOf(*s.kept.Load(), s.cfg.Sources, now) {
		for _, state := range []string{poll.OK, poll.Stale, poll.Failing, poll.Starting, poll.Unheard, poll.Disabled} {
			gauge(sourceState, one(source.State == state), source.Name, state)
		}
		if source.LastSuccess != nil {
			gauge(sourceAge, max(0, now.Time().Sub(*source.LastSuccess).Seconds()), source.Name)
		}
		if source.LastChanged != nil {
			gauge(sourceSame, max(0, now.Time().Sub(*source.LastChanged).Seconds()), source.Name)
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

// askedTo collects the metrics that need a query. While the store is unreachable these series are
// absent: an old figure would look current.
func (s present) askedTo(gauge func(*prometheus.Desc, float64, ...string)) {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	if last, err := s.Store.Log.Last(ctx); err == nil {
		gauge(storeChange, float64(last))
	}
	gauge(damagedHazards, float64(len(s.intake.Damaged())))
	gauge(damagedHeld, float64(len(s.intake.Unreadable())))
	gauge(damagedRecords, float64(len(s.Store.Quarantine.Found())))
	if at, due, err := s.intake.NextMoment(ctx); err == nil {
		late := 0.0
		if due {
			late = max(0, s.Now().Time().Sub(at.Time()).Seconds())
		}
		gauge(dueSince, late)
	}
	if count, bytes, err := s.Store.Pictures.Usage(ctx); err == nil {
		gauge(pictureCount, float64(count))
		gauge(pictureSize, float64(bytes))
	}
	if use, err := s.Store.Evidence.Usage(ctx); err == nil {
		gauge(evidenceCount, float64(use.Payloads))
		gauge(evidenceSize, float64(use.Bytes), "received")
		gauge(evidenceSize, float64(use.Kept), "kept")
		if use.Oldest != 0 {
			gauge(evidenceOldest, max(0, s.Now().Time().Sub(use.Oldest.Time()).Seconds()))
		}
	}
	for _, what := range []store.Prunable{store.History, store.Trail} {
		if h, err := s.Store.Pruning.Horizon(ctx, what); err == nil && h.Kept != hazard.MinInstant {
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
	if s.wis2 != nil {
		if n, err := s.Store.Webhooks.Pending(ctx, wis2.Name); err == nil {
			gauge(wis2Pending, float64(n))
		}
	}
	if n, err := s.Store.Drafts.CountWaiting(ctx, s.Now()); err == nil {
		gauge(draftsWaiting, float64(n))
	}
	if made, any, err := s.Store.Drafts.OldestWaiting(ctx, s.Now()); err == nil {
		waited := 0.0
		if any {
			waited = max(0, s.Now().Time().Sub(made.Time()).Seconds())
		}
		gauge(draftOldest, waited)
	}
	_ = s.notify.Count(ctx, func(n float64) { gauge(subscriptions, n) }, func(n float64, channel string) { gauge(noticesWaiting, n, channel) },
		func(n float64, channel, status string) { gauge(subscribed, n, channel, status) }) // metrics that cannot be read are left out
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
