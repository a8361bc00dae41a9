package auth

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/trustelem/zxcvbn/adjacency"
	"github.com/trustelem/zxcvbn/frequency"
	"github.com/trustelem/zxcvbn/match"
	"github.com/trustelem/zxcvbn/scoring"
)

// guesses returns how many guesses a password in lower case takes, by the scores and the word lists
// of zxcvbn (Wheeler, USENIX Security 2016).
//
// The matchers are ours. Those of the library index the 95,000 words of its lists whenever a process
// starts, in 60 ms and 10 MB. A password has at most 2,080 parts, so we look for the words of the
// lists among its parts instead.
func guesses(password, user string) float64 {
	p := &parts{map[string]int{}, map[string]float64{}}
	for _, v := range readings(password) {
		for i := range v.text {
			for n := range v.text[i:] {
				p.ranks[v.text[i:i+n+1]] = 0
			}
		}
	}
	p.rank([]string{user})
	for _, list := range frequency.FrequencyLists {
		p.rank(list)
	}
	return p.guesses(password)
}

// parts are the parts of a password.
type parts struct {
	ranks map[string]int     // of those that are words, 1 for the most frequent word; 0 for the others
	known map[string]float64 // the guesses of those that were measured
}

func (p *parts) rank(words []string) {
	for i, w := range words {
		w = strings.ToLower(w)
		if rank, ok := p.ranks[w]; ok && (rank == 0 || i+1 < rank) {
			p.ranks[w] = i + 1
		}
	}
}

func (p *parts) guesses(password string) float64 {
	if n, ok := p.known[password]; ok {
		return n
	}
	all := slices.Concat(p.words(password), walks(password), p.repeats(password), runs(password), years(password), dates(password))
	match.Sort(all)
	n := scoring.MostGuessableMatchSequence(password, all, false).Guesses
	p.known[password] = n
	return n
}

// reading is a way to read a password: as it is, backwards, or with letters for digits and signs
// that look like them.
type reading struct {
	text     string
	reversed bool
	letters  map[string]string // by the sign that looks like it
}

func readings(password string) []reading {
	backwards := []rune(password)
	slices.Reverse(backwards)
	all := []reading{{text: password}, {text: string(backwards), reversed: true}}
	sub := map[string]string{"4": "a", "@": "a", "8": "b", "(": "c", "{": "c", "[": "c", "<": "c", "3": "e", "6": "g", "9": "g", "!": "i", "0": "o", "$": "s", "5": "s", "+": "t", "%": "x", "2": "z"}
	for _, one := range []string{"i", "l"} {
		for _, bar := range []string{"i", "l"} {
			for _, seven := range []string{"l", "t"} {
				sub["1"], sub["|"], sub["7"] = one, bar, seven
				letters := map[string]string{}
				var text strings.Builder
				for _, r := range password {
					s := string(r)
					if letter, ok := sub[s]; ok {
						letters[s] = letter
						s = letter
					}
					text.WriteString(s)
				}
				if r := (reading{text: text.String(), letters: letters}); !slices.ContainsFunc(all, func(a reading) bool { return a.text == r.text }) {
					all = append(all, r)
				}
			}
		}
	}
	return all
}

func (p *parts) words(password string) (found []*match.Match) {
	for _, r := range readings(password) {
		for i := range r.text {
			for n := range r.text[i:] {
				j := i + n
				rank := p.ranks[r.text[i:j+1]]
				if rank == 0 {
					continue
				}
				m := &match.Match{Pattern: "dictionary", I: i, J: j, Rank: rank, Reversed: r.reversed}
				if r.reversed {
					m.I, m.J = len(password)-1-j, len(password)-1-i
				}
				m.Token = password[m.I : m.J+1]
				if r.letters != nil {
					if len(m.Token) < 2 || m.Token == r.text[i:j+1] {
						continue
					}
					m.L33t, m.Sub = true, map[string]string{}
					for sign, letter := range r.letters {
						if strings.Contains(m.Token, sign) {
							m.Sub[sign] = letter
						}
					}
				}
				found = append(found, m)
			}
		}
	}
	return found
}

// walks returns the runs of three and more neighboring keys.
func walks(password string) (found []*match.Match) {
	for _, graph := range adjacency.Graphs {
		for i := 0; i < len(password)-1; {
			j, turns, last := i+1, 0, -1
			for ; j < len(password); j++ {
				direction := slices.IndexFunc(graph.Graph[password[j-1:j]], func(key string) bool { return strings.Contains(key, password[j:j+1]) })
				if direction < 0 {
					break
				}
				if direction != last {
					turns, last = turns+1, direction
				}
			}
			if j-i > 2 {
				found = append(found, &match.Match{Pattern: "spatial", I: i, J: j - 1, Token: password[i:j], Graph: graph.Name, Turns: turns})
			}
			i = j
		}
	}
	return found
}

// repeats returns the parts that are repetitions of a shorter one.
func (p *parts) repeats(password string) (found []*match.Match) {
	for i := range password {
		for n := 1; i+2*n <= len(password); n++ {
			base, times := password[i:i+n], 1
			for strings.HasPrefix(password[i+times*n:], base) {
				times++
			}
			if times > 1 && utf8.ValidString(base) {
				found = append(found, &match.Match{Pattern: "repeat", I: i, J: i + times*n - 1, Token: password[i : i+times*n], BaseGuesses: p.guesses(base), RepeatCount: times})
			}
		}
	}
	return found
}

// runs returns sequences with a constant step of at most 5, such as abc and 97531.
func runs(password string) (found []*match.Match) {
	for i := 0; i < len(password)-1; {
		step, j := int(password[i+1])-int(password[i]), i+1
		for j+1 < len(password) && int(password[j+1])-int(password[j]) == step {
			j++
		}
		if size := max(step, -step); size == 1 || j-i > 1 && size > 0 && size <= 5 {
			found = append(found, &match.Match{Pattern: "sequence", I: i, J: j, Token: password[i : j+1], Ascending: step > 0})
		}
		i = j
	}
	return found
}

// years returns the years from 1900 to 2099.
func years(password string) (found []*match.Match) {
	for i := range len(password) - 3 {
		if year([]rune(password[i:])) > 0 {
			found = append(found, &match.Match{Pattern: "regex", RegexName: "recent_year", I: i, J: i + 3, Token: password[i : i+4]})
		}
	}
	return found
}

var (
	separated = regexp.MustCompile(`^(\d{1,4})([\s/\\_.-])(\d{1,2})([\s/\\_.-])(\d{1,4})$`)
	together  = regexp.MustCompile(`^\d{4,8}$`)
)

// dates returns days with a month and a year, in any order, with and without separators.
func dates(password string) (found []*match.Match) {
	for i := range password {
		for j := i + 4; j <= min(i+10, len(password)); j++ {
			text, separator, best := password[i:j], "", 0
			closest := func(year int) {
				if year > 0 && (best == 0 || distance(year) < distance(best)) {
					best = year
				}
			}
			if m := separated.FindStringSubmatch(text); m != nil && m[2] == m[4] {
				separator = m[2]
				closest(yearOf(m[1], m[3], m[5]))
			} else if together.MatchString(text) {
				for k := 1; k <= 4; k++ {
					for l := k + 1; l <= min(k+2, len(text)-1); l++ {
						closest(yearOf(text[:k], text[k:l], text[l:]))
					}
				}
			}
			if best > 0 {
				found = append(found, &match.Match{Pattern: "date", I: i, J: j - 1, Token: text, Separator: separator, Year: best})
			}
		}
	}
	return found
}

func distance(year int) int { return max(year-scoring.ReferenceYear, scoring.ReferenceYear-year) }

// yearOf returns the year of a date whose year comes first or last; 0 if the numbers are no date.
func yearOf(a, b, c string) int {
	first, middle, last := number(a), number(b), number(c)
	for _, d := range [][3]int{{last, first, middle}, {first, middle, last}} {
		year, low, high := d[0], min(d[1], d[2]), max(d[1], d[2])
		if low <= 12 && high >= 1 && high <= 31 && (year < 100 || year >= 1000 && year <= 2050) {
			switch {
			case year > 99:
				return year
			case year > 50:
				return 1900 + year
			}
			return 2000 + year
		}
	}
	return 0
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits) // at most seven digits
	return n
}
