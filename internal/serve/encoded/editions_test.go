package encoded

import (
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/store/view"
)

type item struct {
	ID   int64
	Text int
}

// texts makes bodies of lists of its own.
type texts struct {
	t     *rapid.T
	lists *Lists
	live  *view.Live
	n     int
}

func (x *texts) get(list []item, since string) *Body {
	x.n++ // as if the day had changed: the view is the same
	body, err := x.lists.Entries(x.live.View(start), "items", fmt.Sprint(x.n), view.Filter{}, nil, lang.Wish{}, since, func(add func(int64, []byte) error, _ iter.Seq2[*hazard.Hazard, int]) error {
		for _, one := range list {
			text, err := json.Marshal(one)
			if err != nil {
				return err
			}
			if err := add(one.ID, text); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		x.t.Fatal(err)
	}
	return body
}

func TestADifferenceLeadsFromEachEarlierListToTheLast(t *testing.T) {
	live := open(t, 1, nil)
	rapid.Check(t, func(t *rapid.T) {
		x := &texts{t: t, lists: NewLists(base, DefaultLimits.Shared), live: live}
		var list []item
		for id := range rapid.Int64Range(0, 30).Draw(t, "items") {
			list = append(list, item{ID: id})
		}
		type earlier struct {
			list []item
			tag  string
		}
		was := []earlier{{slices.Clone(list), x.get(list, "").ETag(Brotli)[0]}}
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				i := rapid.IntRange(0, len(list)).Draw(t, "place")
				switch what := rapid.IntRange(0, 3).Draw(t, "what"); {
				case what == 0 || i == len(list):
					id := rapid.Int64Range(0, 40).Draw(t, "new")
					if !slices.ContainsFunc(list, func(o item) bool { return o.ID == id }) {
						list = slices.Insert(list, i, item{ID: id})
					}
				case what == 1:
					list[i].Text++
				case what == 2:
					list = slices.Delete(list, i, i+1)
				default:
					one := list[i]
					list = slices.Delete(list, i, i+1)
					list = slices.Insert(list, rapid.IntRange(0, len(list)).Draw(t, "to"), one)
				}
			}
			was = append(was, earlier{slices.Clone(list), x.get(list, "").ETag(Identity)[0]})
			for n, w := range was {
				body := x.get(list, w.tag)
				if body == nil {
					continue // much has changed
				}
				var d struct {
					Tag     string
					Total   int
					Gone    []int64
					Changed []struct {
						Index  int
						Hazard item
					}
				}
				if err := json.Unmarshal(body.Bytes(Identity), &d, json.MatchCaseInsensitiveNames(true)); err != nil {
					t.Fatal(err)
				}
				out := d.Gone
				for _, c := range d.Changed {
					out = append(out, c.Hazard.ID)
				}
				got := slices.DeleteFunc(slices.Clone(w.list), func(o item) bool { return slices.Contains(out, o.ID) })
				for _, c := range d.Changed {
					got = slices.Insert(got, c.Index, c.Hazard)
				}
				if d.Total != len(list) || !slices.Equal(got, list) || d.Tag != plain(was[len(was)-1].tag) {
					t.Fatalf("from list %d: %s\nmakes %v\nwant  %v", n, body.Bytes(Identity), got, list)
				}
			}
		}
	})
}

func TestWhatHasMovedIsAllThatIsTold(t *testing.T) {
	for _, c := range []struct {
		list []int
		want int
	}{{nil, 0}, {[]int{0}, 1}, {[]int{4, 0, 1, 2, 3}, 4}, {[]int{1, 2, 3, 4, 0}, 4}, {[]int{3, 0, 1, 4, 2}, 3}, {[]int{2, 1, 0}, 1}} {
		got := rising(c.list)
		if len(got) != c.want || !slices.IsSortedFunc(got, func(a, b int) int { return c.list[a] - c.list[b] }) || !slices.IsSorted(got) {
			t.Errorf("%v: %v, want %d", c.list, got, c.want)
		}
	}
}

func TestOfMuchThatHasChangedTheOldestIsForgotten(t *testing.T) {
	var e editions
	text := func(n int) *Body {
		b := NewBody(fmt.Appendf(nil, "%d", n), false)
		b.entries = []entry{{id: int64(n), sum: uint64(n)}}
		return b
	}
	for n := range mostTags + 10 {
		e.next(key{form: "a"}, text(n), "")
	}
	last := text(mostTags + 9)
	if d := e.next(key{form: "a"}, last, plain(text(0).ETag(Identity)[0])); d != nil {
		t.Errorf("since the first: %+v", d)
	}
	if d := e.next(key{form: "a"}, last, plain(text(mostTags).ETag(Gzip)[0])); d == nil || len(d.gone) != 9 || len(d.changed) != 1 {
		t.Errorf("since the tenth before the last: %+v", d)
	}
	if n := len(e.kept[key{form: "a"}].gone); n > mostTags {
		t.Errorf("%d that are gone are kept", n)
	}
	for n := range mostEditions + 10 {
		e.next(key{form: fmt.Sprint(n)}, last, "")
	}
	if len(e.kept) > mostEditions {
		t.Errorf("%d lists are kept", len(e.kept))
	}
}
