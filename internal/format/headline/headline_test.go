package headline

import (
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang/words"
)

func instant(t *testing.T, text string) hazard.Instant {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return hazard.At(at)
}

// measured are measurements of a hazard in tests.
func measured(list ...any) (all []hazard.Measurement) {
	for i := 0; i < len(list); i += 2 {
		all = append(all, hazard.Measurement{Name: list[i].(hazard.Quantity), Value: list[i+1].(float64)})
	}
	return all
}

func TestHeadlines(t *testing.T) {
	at := instant(t, "2026-11-26T12:01:00Z")
	flood := hazard.Hazard{Name: "Flood - Elbe at Lauenburg", Type: hazard.Flood, Severity: hazard.Warning, Category: hazard.Event, Status: hazard.Active, Latitude: 53.373, Longitude: 10.56,
		Description: "Water level 9.40 m, rising 8 cm an hour.", Instruction: "Move cars from the lower town before 16:00.", Start: at.Add(-time.Minute), End: instant(t, "2026-11-27T20:00:00Z"), EndGiven: true}
	guessed := flood
	guessed.EndGiven = false
	drill := flood
	drill.Category = hazard.Exercise
	withdrawn := flood
	withdrawn.Status, withdrawn.Reason, withdrawn.Note = hazard.Expired, hazard.EndRetracted, "It was a test."
	quake := hazard.Hazard{Name: "M 6.4 Earthquake - 18km NNE of Hualian, Taiwan", Type: hazard.Earthquake, Severity: hazard.Advisory, Status: hazard.Active, Latitude: 24.136, Longitude: 121.658,
		Start: instant(t, "2026-11-25T15:50:00Z"), Measurements: measured(hazard.Magnitude, 6.4, hazard.Intensity, 7.64)}
	over := quake
	over.Status, over.Reason = hazard.Expired, hazard.EndExpired
	placeholder := quake
	placeholder.Measurements = measured(hazard.Magnitude, 1.0)
	volcano := hazard.Hazard{Name: "Volcanic Eruption - Mayon, Philippines", Type: hazard.Volcano, Severity: hazard.Watch, Status: hazard.Expired, Reason: hazard.EndAllClear, Source: "gdacs", Latitude: 13.26, Longitude: 123.69, Start: at, End: at}
	fire := hazard.Hazard{Name: "Wildfire - Colony, California", Description: "Wildfire Colony in Tulare County, California.", Type: hazard.Wildfire, Severity: hazard.Watch, Status: hazard.Active, Source: "nifc", Latitude: 36.46, Longitude: -118.84, Start: at, End: at,
		Measurements: measured(hazard.BurntArea, 1.0, hazard.Containment, 75.0)}
	gale := hazard.Hazard{Name: "Gale Warning - Cook Inlet", Type: hazard.HighWind, Severity: hazard.Warning, Status: hazard.Active, Source: "nws", Latitude: 59.5, Longitude: -152.5, Start: at.Add(-time.Hour), End: instant(t, "2026-11-27T20:00:00Z"), LastUpdate: at,
		Texts:       []hazard.Text{{Language: "en", Own: true, Event: "Gale Warning"}},
		Description: "GALE WARNING TODAY\n\n.TODAY...N wind 35 kt becoming NE 25 kt. Seas 12 ft.\n.TONIGHT...NE wind 25 kt.\n.SAT...N wind 50 kt."}
	coming := gale
	coming.Start = instant(t, "2026-11-28T10:00:00Z")
	placed := func(location string) hazard.Hazard {
		h := fire
		h.Description += "\nLocation: Bear Road and Mill Lane, " + location
		return h
	}
	for name, tt := range map[string]struct {
		h    hazard.Hazard
		lang string
		want string
	}{
		"a fire beside a town":               {placed("southeast of Gazelle"), "en", "Wildfire Colony near Gazelle, Tulare County, California: 1 hectare, 75% contained."},
		"a fire near a town":                 {placed("South of the community of Willits"), "en", "Wildfire Colony near Willits, Tulare County, California: 1 hectare, 75% contained."},
		"a fire in a town, once":             {placed("in Manton"), "en", "Wildfire Colony in Manton, Tulare County, California: 1 hectare, 75% contained."},
		"a fire in a town":                   {placed("Eastport"), "en", "Wildfire Colony in Eastport, Tulare County, California: 1 hectare, 75% contained."},
		"an editor's flood":                  {flood, "en", "Flood warning on the Elbe at Lauenburg, Germany, until Friday 21:00: level 9.40 m, rising 8 cm an hour."},
		"an end that nobody gave":            {guessed, "en", "Flood warning on the Elbe at Lauenburg, Germany: level 9.40 m, rising 8 cm an hour."},
		"a drill":                            {drill, "en", "EXERCISE: flood warning on the Elbe at Lauenburg, Germany, until Friday 21:00: level 9.40 m, rising 8 cm an hour."},
		"what was false":                     {withdrawn, "en", "Withdrawn: flood, Elbe at Lauenburg, Germany. It was a test."},
		"an earthquake":                      {quake, "en", "Magnitude 6.4 earthquake 19 km north of Hualien City, Taiwan, Wednesday 23:50: severe shaking. Damage is not known."},
		"an earthquake that is not shown":    {over, "en", "Magnitude 6.4 earthquake 19 km north of Hualien City, Taiwan, Wednesday 23:50: severe shaking. Damage is not known."},
		"a placeholder is no magnitude":      {placeholder, "en", "Earthquake 19 km north of Hualien City, Taiwan, Wednesday 23:50. Shaking and damage are not known."},
		"numbers of the reader":              {quake, "es", "Terremoto de magnitud 6,4 a 19 km al norte de Hualien City, Taiwán, el miércoles a las 23:50: sacudida severa. No se conocen los daños."},
		"nouns keep their capitals":          {quake, "de", "Erdbeben der Stärke 6,4, 19 km nördlich von Hualien City, Taiwan, Mittwoch 23:50: sehr schwere Erschütterungen. Schäden sind nicht bekannt."},
		"a name keeps its capital":           {volcano, "en", "Ended: Mayon volcano, Philippines. The danger is over."},
		"one hectare":                        {fire, "en", "Wildfire Colony in Tulare County, California: 1 hectare, 75% contained."},
		"the sentence of another language":   {quake, "ja", "台湾・Hualien Cityの北19kmでマグニチュード6.4の地震、水曜日23:50、激しい揺れ。被害は不明。"},
		"the punctuation of Chinese":         {quake, "zh", "台湾·Hualien City以北19公里发生6.4级地震，周三23:50：严重破坏性震动。损失情况未知。"},
		"two sentences of two scripts":       {withdrawn, "zh", "已撤回：德国·Flood，Elbe at Lauenburg. It was a test."},
		"names without cases, in Russian":    {quake, "ru", "Землетрясение магнитудой 6,4, 19 км к северу от Hualien City, Тайвань, 23:50 (среда): разрушительные сотрясения. О разрушениях не известно."},
		"and in Ukrainian":                   {drill, "uk", "НАВЧАННЯ: попередження (повінь), Elbe at Lauenburg, Німеччина, до 21:00 (п’ятниця): level 9.40 m, rising 8 cm an hour."},
		"names without suffixes, in Turkish": {quake, "tr", "6,4 büyüklüğünde deprem, Hualien City, Tayvan (19 km kuzeyi), Çarşamba 23:50: hasar verici sarsıntı. Hasar bilinmiyor."},
		"a language from right to left too":  {drill, "ar", ""},
	} {
		var l *words.Language
		for _, known := range words.All() {
			if known.ID == tt.lang {
				l = known
			}
		}
		got := Make(&tt.h, AroundOf(&tt.h), Reader{l, at})
		if tt.want != "" && got.Headline != tt.want {
			t.Errorf("%s: %s\nwant %s", name, got.Headline, tt.want)
		}
		if got.Headline == "" || got.What == "" || got.HowBad == "" || got.Where == "" || got.Language != tt.lang {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Some sources put the countries of a storm into its name.
func TestTheNameOfAStormIsWithoutItsCountries(t *testing.T) {
	at := instant(t, "2026-11-26T12:01:00Z")
	storm := hazard.Hazard{Name: "Tropical Cyclone Noul - China, Philippines", Type: hazard.Cyclone, Severity: hazard.Warning, Status: hazard.Active, Source: "gdacs", Latitude: 22.2, Longitude: 114.5, Start: at, End: at}
	if got := Make(&storm, AroundOf(&storm), Reader{words.English(), at}).Headline; !strings.HasPrefix(got, "Cyclone Noul, ") || strings.Contains(got, "Philippines") {
		t.Error(got)
	}
}

func TestNamesAreIsolatedInTextFromRightToLeft(t *testing.T) {
	at := instant(t, "2026-11-26T12:01:00Z")
	h := hazard.Hazard{Name: "Flood - Elbe at Lauenburg", Type: hazard.Flood, Severity: hazard.Warning, Status: hazard.Active, Latitude: 53.373, Longitude: 10.56, Start: at, End: at}
	for _, l := range words.All() {
		got := Make(&h, AroundOf(&h), Reader{l, at}).Headline
		if isolated := strings.Contains(got, "\u2068Elbe at Lauenburg\u2069"); isolated != (l.Dir == "rtl") {
			t.Errorf("%s: %+q", l.ID, got)
		}
	}
}

// No language lacks a word, nor says an argument.
func TestEveryLanguageHasTheWords(t *testing.T) {
	for _, key := range words.English().Keys() {
		if !strings.HasPrefix(key, "headline.") {
			continue
		}
		for _, l := range words.All() {
			if !l.Knows(key) {
				t.Errorf("%s lacks %s", l.ID, key)
			}
		}
	}
}

// What the level of an avalanche, the words of a flood and fallen rain say of how bad it is.
func TestHowBadIsSaidWhereTheEventSaysIt(t *testing.T) {
	at := instant(t, "2026-11-26T12:01:00Z")
	for _, tt := range []struct {
		name, text, lang, headline, howBad string
		typ                                hazard.Type
	}{
		{"Avalanche danger 3 Considerable - Bitterroot, MT, United States", "", "en", "Avalanche danger 3 (considerable) for Bitterroot, ", "danger level 3 of 5: considerable", hazard.Avalanche},
		{"Avalanche danger 3 Considerable - Bitterroot, MT, United States", "", "de", "Lawinengefahr Stufe 3 (erheblich)", "Gefahrenstufe 3 von 5: erheblich", hazard.Avalanche},
		{"Avalanche danger 5 Extreme - Bitterroot, MT, United States", "", "en", "Avalanche danger 5 (extreme)", "danger level 5 of 5: extreme", hazard.Avalanche},
		{"Avalanche danger 5 - Tyrol, Austria", "", "fr", "Danger d’avalanche 5 (très fort)", "degré de danger 5 sur 5 : très fort", hazard.Avalanche},
		{"Flash Flood Warning - Kendall, TX", "Between 2 and 4 inches\nof rain have fallen.", "en", "Flash flood warning for Kendall", "5 to 10 cm of rain has fallen", hazard.Flood},
		{"Flash Flood Warning - Kendall, TX", "Up to 2 inches of rain have\nfallen.", "en", "Flash flood warning for Kendall", "up to 5 cm of rain has fallen", hazard.Flood},
		{"Flood Warning - Clay, IA", "* WHAT...Minor flooding is occurring and moderate flooding is forecast.", "en", "Iowa: moderate flooding.", "moderate flooding", hazard.Flood},
		{"Flood Warning - Clay, IA", "* WHAT...Minor flooding is occurring and moderate flooding is forecast.\n- At 8:15 AM CST Thursday the stage was 19.6 feet.\n- Forecast...The river is expected to rise above flood\nstage late this evening to a crest of 15.7 feet early tomorrow\nafternoon. It will then fall.\n- Flood stage is 12.0 feet.", "en",
			"moderate flooding. Highest water expected on Friday, 1.1 m above flood level.", "moderate flooding; highest water expected on Friday, 1.1 m above flood level", hazard.Flood},
		{"Flood Warning - Clay, IA", "At 8:15 AM CST Wednesday the stage was 19.6 feet. The river will crest at 23.0 feet Wednesday, December 2. Flood stage is 20.0 feet.", "de", "", "Höchststand am Mittwoch, 2. Dezember erwartet, 0,9 m über der Hochwassermarke", hazard.Flood},
		{"Flood Warning - Clay, IA", "At 8:15 AM CST Tuesday the stage was 19.6 feet. The river is expected to rise to a crest of 23.0 feet early Wednesday morning. Flood stage is 20.0 feet.", "en", "", "flooding is expected", hazard.Flood}, // Wednesday has passed
		{"Flood Warning - Clay, IA", "The river is expected to rise to a crest of 23.0 feet early Friday morning. Flood stage is 20.0 feet.", "en", "", "flooding is expected", hazard.Flood},                                                    // from which day on is not known
		{"Flood Warning - Clay, IA", "At 8:15 AM CST Thursday the stage was 19.6 feet. This crest compares to a previous crest of 23.0 feet Friday. Flood stage is 20.0 feet.", "en", "", "flooding is expected", hazard.Flood},                  // another flood
		{"Flood Warning - Clay, IA", "At 8:15 AM CST Thursday the stage was 19.6 feet. The river is expected to rise to a crest of 19.9 feet tomorrow. Flood stage is 20.0 feet.", "en", "", "flooding is expected", hazard.Flood},               // below its banks
		{"River Flood Warning (level 3) - Kuji River, Japan", "", "en", "River flood warning (level 3)", "alert level 3 of 5", hazard.Flood},
		{"River Flood - Kuji River, Japan", "【警戒レベル４相当情報［洪水］】", "en", "", "alert level 4 of 5", hazard.Flood},
		{"Severe flood warning - River Yarty, Devon, England", "", "en", "", "danger to life", hazard.Flood},
		{"Flood alert - River Yarty, Devon, England", "", "en", "", "flooding is possible", hazard.Flood},
		{"Flood warning - River Yarty, Devon, England", "", "en", "", "flooding is expected", hazard.Flood},
		{"Severe Weather Statement - Hartford; Tolland", "...THE SEVERE THUNDERSTORM WARNING FOR TOLLAND AND HARTFORD COUNTIES WILL EXPIRE AT 1100 PM EST... The storms which prompted the warning have weakened below severe limits.", "en",
			"Severe thunderstorm for Hartford and Tolland", "weakened, no longer severe", hazard.Storm},
	} {
		var l *words.Language
		for _, known := range words.All() {
			if known.ID == tt.lang {
				l = known
			}
		}
		h := hazard.Hazard{Name: tt.name, Description: tt.text, Type: tt.typ, Severity: hazard.Warning, Status: hazard.Active, Source: "nws", Latitude: 43.1, Longitude: -95.1, Start: at, End: at.Add(time.Hour), Updated: at}
		got := Make(&h, AroundOf(&h), Reader{l, at})
		if !strings.Contains(got.Headline, tt.headline) || got.HowBad != tt.howBad {
			t.Errorf("%s: %s (%s), want %q (%s)", tt.name, got.Headline, got.HowBad, tt.headline, tt.howBad)
		}
	}
}

// What was read last had ended before: there is no silence to tell of.
func TestWhatHadEndedWhenItWasReadHasNoSilence(t *testing.T) {
	at := instant(t, "2026-11-26T12:01:00Z")
	h := hazard.Hazard{Name: "Flood - Syria", Type: hazard.Flood, Severity: hazard.Information, Status: hazard.Expired, Reason: hazard.EndExpired, Source: "reliefweb", Latitude: 35, Longitude: 38.5, Start: at.Add(-60 * 24 * time.Hour), End: at.Add(-30 * 24 * time.Hour), Updated: at.Add(-time.Hour)}
	if got := Make(&h, AroundOf(&h), Reader{words.English(), at}).Headline; got != "Ended: flood in Syria. Whether the danger is over is not known." {
		t.Error(got)
	}
	h.Updated = h.End.Add(-time.Hour)
	if got := Make(&h, AroundOf(&h), Reader{words.English(), at}).Headline; !strings.Contains(got, "No news since") {
		t.Error(got)
	}
}

// Names as sources write them, drawn from recordings: what is said twice, lists, codes of states.
func TestWhereIsSaidOnceAndWithoutLists(t *testing.T) {
	at := instant(t, "2026-11-26T12:01:00Z")
	avalanche := hazard.Hazard{Type: hazard.Avalanche, Severity: hazard.Advisory, Status: hazard.Active, Source: "eaws", Latitude: 47.3, Longitude: 11.51, Start: at, End: at.Add(time.Hour), EndGiven: true}
	for name, want := range map[string]string{
		"Avalanche danger 3 Considerable - Rattlesnake, MT, United States": "for Rattlesnake, ",
		"Flood alert - River Amber in Derbyshire, Derbyshire, England":     "for River Amber in Derbyshire, England, ",
	} {
		h := avalanche
		h.Name = name
		if got := Make(&h, AroundOf(&h), Reader{words.English(), at}); !strings.Contains(got.Headline, want) || strings.Contains(got.Headline, "United States") {
			t.Errorf("%s: %s, want %q", name, got.Headline, want)
		}
	}
	for name, want := range map[string]string{
		"Avalanche danger 3 Considerable - Glockner Group; Deferegger Alps East; Schober Group West; Venediger Group South; Lasörling Group, Tyrol, Austria": "in 5 areas of Tyrol, Austria.",
		"Avalanche danger 3 Considerable - Glockner Group; Lasörling Group, Tyrol, Austria":                                                                  "for Glockner Group and Lasörling Group, Tyrol, Austria.",
		"Avalanche danger 3 Considerable - Glockner Group; Lasörling Group and 9 more, Tyrol, Austria":                                                       "in 11 areas of Tyrol, Austria.",
		"Avalanche danger 3 Considerable - Glockner Group; Lasörling Group and 7 more":                                                                       "in 9 areas of Tyrol.",
	} {
		h := avalanche
		h.Name, h.Placed, h.PlaceKnownAs = name, hazard.PlaceRegion, "Tyrol"
		if got := Make(&h, AroundOf(&h), Reader{words.English(), at}); !strings.HasSuffix(got.Headline, want) {
			t.Errorf("%s: %s, want %q at its end", name, got.Headline, want)
		}
	}
	epidemic := hazard.Hazard{Name: "DR Congo/Uganda: Ebola Outbreak - May 2026", Type: hazard.Biomedical, Severity: hazard.Information, Status: hazard.Active, Source: "reliefweb", Placed: hazard.PlaceRegion,
		PlaceKnownAs: "Democratic Republic of the Congo", Latitude: -2.88, Longitude: 23.65, Start: at, End: at}
	if got := Make(&epidemic, AroundOf(&epidemic), Reader{words.English(), at}); got.Headline != "Ebola outbreak in DR Congo and Uganda." {
		t.Error(got.Headline)
	}
}

func TestAnEarthquakeAtSeaIsInUTC(t *testing.T) {
	at := instant(t, "2026-11-26T12:01:00Z")
	h := hazard.Hazard{Name: "M 4.9 Earthquake - South of Fiji Islands", Type: hazard.Earthquake, Severity: hazard.Information, Status: hazard.Active, Latitude: -23.63, Longitude: 179.38, Start: instant(t, "2026-11-25T12:51:00Z"), Measurements: measured(hazard.Magnitude, 4.9)}
	if got := Make(&h, AroundOf(&h), Reader{words.English(), at}).Headline; !strings.Contains(got, "Wednesday 12:51 UTC.") {
		t.Error(got)
	}
}

func TestAnEarthquakeFarFromLandIsInItsRegion(t *testing.T) {
	at := instant(t, "2026-11-26T12:01:00Z")
	h := hazard.Hazard{Type: hazard.Earthquake, Severity: hazard.Watch, Status: hazard.Active, Latitude: -4.91, Longitude: 94.28, Start: instant(t, "2026-11-25T12:49:00Z"), Measurements: measured(hazard.Magnitude, 7.8)}
	for name, want := range map[string]string{
		"M 7.8 Earthquake - Southwest of Sumatra, Indonesia":      "Magnitude 7.8 earthquake southwest of Sumatra, Indonesia, at 4.9° S, 94.3° E, Wednesday 12:49 UTC.",
		"M 7.8 Earthquake - central Mid-Indian Ridge":             "Magnitude 7.8 earthquake on the central Mid-Indian Ridge, at 4.9° S, 94.3° E, Wednesday 12:49 UTC.",
		"M 7.8 Earthquake - South Indian Ocean":                   "Magnitude 7.8 earthquake in the South Indian Ocean, at 4.9° S, 94.3° E, Wednesday 12:49 UTC.",
		"M 7.8 Earthquake - 686 km WSW of Bengkulu, Indonesia":    "Magnitude 7.8 earthquake at 4.9° S, 94.3° E, Wednesday 12:49 UTC.",
		"M 7.8 Earthquake - off the coast of nobody knows what 3": "Magnitude 7.8 earthquake at 4.9° S, 94.3° E, Wednesday 12:49 UTC.",
	} {
		h.Name = name
		if got := Make(&h, AroundOf(&h), Reader{words.English(), at}).Headline; !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWhatIsOverKeepsItsName(t *testing.T) {
	at := instant(t, "2026-11-26T12:01:00Z")
	h := hazard.Hazard{Name: "Volcano - Pacaya, Guatemala", Type: hazard.Volcano, Severity: hazard.Advisory, Status: hazard.Expired, Reason: hazard.EndExpired, Source: "eonet", Latitude: 14.38, Longitude: -90.6, Start: at, End: at}
	if got := Make(&h, AroundOf(&h), Reader{words.English(), at}); !strings.HasPrefix(got.What, "Ended: Pacaya volcano") {
		t.Error(got.What)
	}
}

func TestInstructionsAreShortened(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"Actions to protect human life and property willvary within tsunami advisory areas.If you are in a tsunami advisory area: Move out of the water.Be alert to local officials.": "If you are in a tsunami advisory area: Move out of the water. Be alert to local officials.",
		"Move to higher ground now": "Move to higher ground now.",
		"Turn around, don't drown when encountering flooded roads. Most flood deaths occur in vehicles. Stay away from the river.": "Stay away from the river.",
		"Turn around, don't drown when encountering flooded roads. Most flood deaths occur in vehicles.":                           "Turn around, don't drown when encountering flooded roads.",
		"Heavy rainfall will cause extensive and severe flash flooding of creeks, streams and ditches. Stay away.":                 "Stay away.",
		"Winds this strong can make driving difficult. Use extra caution.":                                                         "Use extra caution.",
		"An Extreme Heat Warning means that a period of very hot temperatures will occur. Drink plenty of fluids.":                 "Drink plenty of fluids.",
		"If rain is falling, move to high ground.":                                                                                 "If rain is falling, move to high ground.",
		"A Gale Warning means winds of 34 to 47 knots are imminent.":                                                               "",
		"This is a life threatening situation. Seek higher ground now!":                                                            "Seek higher ground now!",
		"This is a life-threatening situation for in and around the Aspen Burn Scar. Move away and to higher ground immediately.":  "Move away and to higher ground immediately.",
		"This is a life-threatening situation for people in low places, who must move to higher ground.":                           "This is a life-threatening situation for people in low places, who must move to higher ground.",
		"A Red Flag Warning means that critical fire weather conditions are occurring. Do not burn outdoors.":                      "Do not burn outdoors.",
		"TAKE COVER NOW! MOVE TO A BASEMENT OR AN INTERIOR ROOM.":                                                                  "Take cover now! Move to a basement or an interior room.",
	} {
		if got := Shortened(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What 5,000 headlines cost whose places are not known yet: the points of the test's flood.
func BenchmarkMake(b *testing.B) {
	at := hazard.At(time.Date(2026, 11, 26, 12, 1, 0, 0, time.UTC))
	h := hazard.Hazard{Name: "Flood - Elbe at Lauenburg", Type: hazard.Flood, Severity: hazard.Warning, Category: hazard.Event, Status: hazard.Active, Latitude: 53.373, Longitude: 10.56,
		Description: "Water level 9.40 m, rising 8 cm an hour.", Start: at, End: at}
	for b.Loop() {
		Make(&h, AroundOf(&h), Reader{words.English(), at})
	}
}
