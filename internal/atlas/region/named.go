package region

import (
	"iter"
	"strings"
)

// A Named is an area that has a name and a code.
type Named struct {
	Code
	Name    string // as its authority writes it
	Region  string // the state or province that it is in, where its code tells; names of areas recur from one to the next
	Country string // alpha-2; empty: the code does not say
	// State: it is a whole state or province.
	State bool
}

// named are the schemes in whose areas people look for a place by name: of SAME only the states, the rest are counties that UGC has.
var named = [...]Scheme{UGC, SAME, EMMA, WarnCellID, Taiwan, CPEAS}

// Names yields all built-in areas, each code once, by scheme and in ascending order of codes. It unpacks all schemes.
func Names() iter.Seq[Named] {
	return func(yield func(Named) bool) {
		states := map[string]string{} // names by what their codes begin with
		for letters, number := range stateCodes {
			if _, list := direct(Code{SAME, "0" + number + "000"}); len(list) > 0 {
				states[letters] = list[0].name
			}
		}
		for _, scheme := range named {
			last := ""
			for _, x := range atlases[scheme]().areas {
				n := Named{Code: Code{scheme, x.code}, Name: strings.TrimSpace(x.name), Country: countryOfCode(string(scheme) + ":" + x.code)}
				switch {
				case x.code == last || n.Name == "":
					continue
				case scheme == UGC:
					n.Region = states[x.code[:2]]
				case scheme == SAME:
					if x.code[0] != '0' || !strings.HasSuffix(x.code, "000") {
						continue
					}
					n.State = true
				case scheme == CPEAS && strings.HasSuffix(x.code, "0000000000"):
					continue // the data give provinces the name of the country
				case scheme == CPEAS && strings.HasSuffix(x.code, "00000000"):
					states[x.code[:4]] = n.Name
				case scheme == CPEAS:
					n.Region = states[x.code[:4]] // a prefecture comes before what it holds
				}
				last = x.code
				if !yield(n) {
					return
				}
			}
		}
	}
}
