package publisher_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/format/publisher"
)

// written writes published messages as "number:kind:status←first", in order of publication.
func written(messages []publisher.Message) string {
	var words []string
	for _, m := range messages {
		words = append(words, fmt.Sprintf("%d:%s:%s<%d", m.Number, m.Kind, m.Status, m.First))
	}
	return strings.Join(words, " ")
}

func TestAChainBeginsWithAnAlertAndEndsWithACancel(t *testing.T) {
	on, paused, test := &publisher.Profile{}, &publisher.Profile{Paused: true}, &publisher.Profile{Test: true}
	type at struct {
		after   int64
		profile *publisher.Profile
	}
	// A letter is a change: A Alert, U Update, C Cancel; small letters are changes of a drill, and
	// . is one of another hazard.
	for _, c := range []struct {
		what, changes string
		settings      []at
		want          string
	}{
		{"published all the time", "AUUC", []at{{0, on}}, "1:Alert:Actual<1 2:Update:Actual<1 3:Update:Actual<1 4:Cancel:Actual<1"},
		{"made while paused (P10)", "AUUUC", []at{{0, paused}, {1, on}}, "2:Alert:Actual<2 3:Update:Actual<2 4:Update:Actual<2 5:Cancel:Actual<2"},
		{"over before it is published", "AC", []at{{0, paused}, {2, on}}, ""},
		{"ended while paused (P11)", "AUC.", []at{{0, on}, {2, paused}, {4, on}}, "1:Alert:Actual<1 2:Update:Actual<1 3:Cancel:Actual<1"},
		{"ended while it is still paused", "AC", []at{{0, on}, {1, paused}}, "1:Alert:Actual<1"},
		{"changed twice while paused: the last counts", "AUUU", []at{{0, on}, {1, paused}, {3, on}}, "1:Alert:Actual<1 3:Update:Actual<1 4:Update:Actual<1"},
		{"ended and begun again while paused", "ACA", []at{{0, on}, {1, paused}, {3, on}}, "1:Alert:Actual<1 3:Update:Actual<1"},
		{"ended, redacted while paused", "ACC", []at{{0, on}, {2, paused}, {3, on}}, "1:Alert:Actual<1 2:Cancel:Actual<1"},
		{"paused twice", "AUU", []at{{0, on}, {1, paused}, {2, on}, {2, paused}, {3, on}}, "1:Alert:Actual<1 2:Update:Actual<1 3:Update:Actual<1"},
		{"Actual, then tests (P11)", "AUC", []at{{0, on}, {1, test}}, "1:Alert:Actual<1 2:Update:Actual<1 3:Cancel:Actual<1"},
		{"a Test, then no test (P11)", "AUUC", []at{{0, test}, {2, on}}, "1:Alert:Test<1 2:Update:Test<1 3:Alert:Actual<3 4:Cancel:Actual<3"},
		{"a Test, ended after the tests", "AC", []at{{0, test}, {1, on}}, "1:Alert:Test<1 2:Cancel:Test<1"},
		{"a hazard becomes a drill", "AUuuc", []at{{0, on}}, "1:Alert:Actual<1 2:Update:Actual<1 3:Cancel:Actual<1 4:Alert:Exercise<4 5:Cancel:Exercise<4"},
		{"a hazard becomes a drill and is over", "Auc", []at{{0, on}}, "1:Alert:Actual<1 2:Cancel:Actual<1"},
		{"a drill becomes real", "auUC", []at{{0, on}}, "1:Alert:Exercise<1 2:Update:Exercise<1 3:Alert:Actual<3 4:Cancel:Actual<3"},
		{"a redacted end", "ACC", []at{{0, on}}, "1:Alert:Actual<1 2:Cancel:Actual<1 3:Cancel:Actual<1"},
		{"over, and active again", "ACAU", []at{{0, on}}, "1:Alert:Actual<1 2:Cancel:Actual<1 3:Alert:Actual<3 4:Update:Actual<3"},
	} {
		var all []publisher.Message
		first := int64(0)
		for i, letter := range c.changes {
			m := publisher.Message{Number: int64(i + 1), Org: 7, Drill: strings.ContainsRune("auc", letter)}
			switch strings.ToUpper(string(letter)) {
			case "A":
				m.Kind, first = publisher.Alert, m.Number
			case "U":
				m.Kind = publisher.Update
			case "C":
				m.Kind = publisher.Cancel
			default:
				continue
			}
			m.First = first
			all = append(all, m)
		}
		settings := publisher.Settings{}
		for _, s := range c.settings {
			settings[7] = append(settings[7], publisher.Setting{After: s.after, Profile: s.profile})
		}
		if got := written(publisher.Published(all, settings)); got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.what, c.changes, got, c.want)
		}
	}
}
