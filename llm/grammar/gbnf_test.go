package grammar

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGBNF(t *testing.T) {
	for _, c := range []struct {
		source  string
		yes, no []string
	}{
		{`root ::= "yes" | "no"`, []string{"yes", "no"}, []string{"", "ye", "yesno", "maybe"}},
		{"# a comment\nroot ::= # another\n  \"a\" b # and one\nb ::= \"b\"*\n# the last", []string{"a", "ab", "abbb"}, []string{"", "b", "aab"}},
		{"root ::= \"a\" |\n \"b\"\r\n\r\n", []string{"a", "b"}, []string{"ab"}},
		{`root ::= ("a" | "b" "c"?)+`, []string{"a", "bc", "abbca"}, []string{"", "c", "ac"}},
		{"root ::= (\n  \"a\"\n  | \"b\" (\n\"c\" )\n) \"d\"", []string{"ad", "bcd"}, []string{"abcd", "d"}},
		{`root ::= [a-c]{2} [0-9]{1,3} [x]{2,} "y"{0,1}`, []string{"ab1xx", "cc123xxxxy"}, []string{"a1xx", "ab1234xx", "ab1x", "ab1xxyy", "abxx"}},
		{`root ::= "ab"{2}`, []string{"abab"}, []string{"ab", "abb", "ababab"}},
		{`root ::= "a"{0} "b"?{2}`, []string{"", "b", "bb"}, []string{"a", "bbb"}},
		{`root ::= [^"\\\n]+`, []string{"a", "äö 漢字 😀", "[]", "\x7f"}, []string{`"`, `\`, "a\nb", "", "\xff", "\xed\xa0\x80", "\xc0\x80"}},
		{`root ::= [-a\]\[] [a-]`, []string{"--", "aa", "]-", "[a"}, []string{"b-", "-b"}},
		{`root ::= .`, []string{"a", "\n", "é", "漢", "😀", "\U0010ffff", "\ufffd"}, []string{"", "ab", "\xed\xbf\xbf", "\xf4\x90\x80\x80", "\x80"}},
		{`root ::= "\n\t\r\\\"\[\]\x41\u00e9\U0001F600" [\x30-\x39\u4e00-\u9fff]`, []string{"\n\t\r\\\"[]Aé😀5", "\n\t\r\\\"[]Aé😀漢"}, []string{"\n\t\r\\\"[]Aé😀"}},
		{`root ::= [α-ωа-я]+ "…"`, []string{"αя…", "ж…"}, []string{"a…", "…", "Ω…"}},
		{"root ::= [a\n]+", []string{"a\na"}, []string{"b"}},
		{"root ::= expr\nexpr ::= term ([-+*/] term)*\nterm ::= num | \"(\" expr \")\"\nnum ::= [0-9]+ (\".\" [0-9]+)?", []string{"1", "1+2*(3-4.5)", "((7))"},
			[]string{"1+", "(1", "1.", "+1"}},
		{"root ::= item+\nitem ::= \"- \" [^\\r\\n\\x0b\\x0c\\u0085\\u2028\\u2029]+ \"\\n\"", []string{"- a\n- b c\n"}, []string{"- a", "- \n"}},
		{"root ::= (\"\" | \"a\"?)* \"b\" (\"\"* | ws){2}\nws ::= | \" \" | \"\\n\" [ \\t]{0,20}", []string{"b", "aab", "b \n\t"}, []string{"a", "b   "}},
		{"root ::= object\nvalue ::= object | array | string | number | (\"true\" | \"false\" | \"null\") ws\n" +
			"object ::=\n  \"{\" ws (\n            string \":\" ws value\n    (\",\" ws string \":\" ws value)*\n  )? \"}\" ws\n" +
			"array  ::=\n  \"[\" ws (\n            value\n    (\",\" ws value)*\n  )? \"]\" ws\n" +
			"string ::=\n  \"\\\"\" (\n    [^\"\\\\\\x7F\\x00-\\x1F] |\n    \"\\\\\" ([\"\\\\bfnrt] | \"u\" [0-9a-fA-F]{4}) # escapes\n  )* \"\\\"\" ws\n" +
			"number ::= (\"-\"? ([0-9] | [1-9] [0-9]{0,15})) (\".\" [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws\nws ::= | \" \" | \"\\n\" [ \\t]{0,20}",
			[]string{`{}`, `{"a":[1,-2.5e3 ,"ä\u00e9\n"],"b":{"c":null }}`}, []string{`[]`, `{"a"}`, "{\"a\":\"\n\"}", `{"a":01}`, `{"a":1,}`}},
		{"a ::= \"x\" root | \"y\"\nroot ::= \"(\" a \")\"", []string{"(y)", "(x(y))", "(x(x(y)))"}, []string{"()", "(x)", "y"}},
		{strings.Repeat(" ", 10) + "root ::= " + strings.Repeat("(", maxNested) + `"a"` + strings.Repeat(")", maxNested), []string{"a"}, []string{"b"}},
		{`root ::= "a"` + "{4096}", []string{strings.Repeat("a", 4096)}, []string{strings.Repeat("a", 4095), strings.Repeat("a", 4097)}},
	} {
		g, err := GBNF([]byte(c.source))
		require.NoError(t, err, c.source)
		for _, text := range c.yes {
			assert.True(t, allows(g, text), "%s: %q", c.source, text)
		}
		for _, text := range c.no {
			assert.False(t, allows(g, text), "%s: %q", c.source, text)
		}
	}
}

// What is wrong is told with its line and column, and grammars that are made to harm are refused.
func TestGBNFRefuses(t *testing.T) {
	long := "root ::= r0\n"
	for i := range 300 {
		long += fmt.Sprintf("r%d ::= r%d \"x\"\n", i, i+1)
	}
	deep := long + "r300 ::= \"z\"\n"
	for source, want := range map[string]string{
		``:                                   `there is no rule root`,
		"a ::= \"b\"":                        `there is no rule root`,
		`root`:                               `line 1, column 5: after the name of a rule stands ::=; here is the end`,
		`root = "a"`:                         `line 1, column 6: after the name of a rule stands ::=; here is '='`,
		"root ::= \"a\"\n\n  ?":              `line 3, column 3: a rule begins with its name, of letters, digits and -; here is '?'`,
		"root ::= \"a\"\nroot ::= \"b\"":     `line 2, column 1: the rule root is defined in line 1 already`,
		"root ::= \"ä\" nobody":              `line 1, column 14: there is no rule nobody`,
		"root ::= \"a\" )":                   `line 1, column 14: neither a literal, a set, a name, a group nor the end of the rule: ')'`,
		"root ::= \"a\"\n  | \"b\"":          `line 2, column 3: a rule begins with its name`,
		"root ::= (\"a\"\nb ::= \"c\"":       `line 2, column 3: the group of line 1, column 10 is not closed: here is ':'`,
		`root ::= *"a"`:                      `line 1, column 10: * repeats what stands before it, and nothing does`,
		`root ::= ("a" | +)`:                 `line 1, column 17: + repeats what stands before it`,
		`root ::= "a`:                        `line 1, column 10: the literal is not closed`,
		`root ::= [a`:                        `line 1, column 10: the set is not closed`,
		`root ::= [a-`:                       `line 1, column 10: the set is not closed`,
		`root ::= []`:                        `line 1, column 10: the set is empty`,
		`root ::= [^\x00-\U0010FFFF]`:        `line 1, column 10: the set is empty: all characters are taken out`,
		`root ::= [bz-a]`:                    `line 1, column 12: the range 'z' to 'a' is empty`,
		`root ::= "\q"`:                      `line 1, column 11: \ stands before n, r, t, \, ", [, ], x, u or U; here is 'q'`,
		`root ::= "\u12"`:                    `line 1, column 11: "12\"" is no character`,
		`root ::= "\uD800"`:                  `line 1, column 11: "D800" is no character`,
		`root ::= "\U00110000"`:              `"00110000" is no character`,
		`root ::= "a"{`:                      `a count is {m}, {m,} or {m,n}; here is the end`,
		`root ::= "a"{,3}`:                   `line 1, column 14: a count is {m}, {m,} or {m,n}; here is ','`,
		`root ::= "a"{1,2,3}`:                `line 1, column 17: a count is {m}, {m,} or {m,n}; here is ','`,
		`root ::= "a"{3,2}`:                  `line 1, column 13: a count of at least 3 and at most 2`,
		`root ::= "a"{5000}`:                 `line 1, column 13: a count is from 0 to 4096`,
		`root ::= "a"{99999999999999999999}`: `a count is from 0 to 4096`,
		`root ::= <[12]>`:                    `line 1, column 10: tokens (<…>, !<…>) are not known here`,
		"root ::= \"a\xff\"":                 `line 1, column 12: the byte 0xff is not UTF-8`,
		"root ::= \"a\x00\"":                 `line 1, column 12: a zero byte`,
		"root ::= expr\nexpr ::= expr \"+\" n | n\nn ::= [0-9]":    `line 2, column 1: the rule expr begins with itself (left recursion)`,
		"root ::= \"\" [a]? b \"c\"\nb ::= (\"x\"* root)? | \"y\"": `line 1, column 1: the rule root begins with itself (left recursion)`,
		"root ::= root | \"a\"":                                    `line 1, column 1: the rule root begins with itself`,
		"root ::= root*":                                           `line 1, column 1: the rule root begins with itself`,
		"root ::= \"a\" root":                                      `no text can end`,
		deep:                                                       `no text can end: something has to hold itself, or is nested too deeply`,
		"root ::= " + strings.Repeat("(", 41) + `"a"` + strings.Repeat(")", 41):                                                      `line 1, column 50: groups are nested deeper than 40`,
		`root ::= ("abc" [0-9]{4000}){4000}` + ` ("x" | "yz"){4096} ("x" "z"){4096} ("x" "y"){4096} ("x" "w"){4096} ("x" "v"){4096}`: `the grammar takes more than 65536 elements`,
		`root ::= "` + strings.Repeat("a", 60000) + `"{4096}`:                                                                        `line 1, column 60012: up to here the grammar takes more than 65536 elements`,
		"root ::= \"\"" + strings.Repeat(` | "ab"`, 600):                                                                             `line 1, column 1: the rule root may begin in more than 511 ways`,
		strings.Repeat(" ", 1<<16+1):                                                                                                 `at most 65536 are read`,
		"root ::= \"a\"" + numbered(3000):                                                                                            `more than 2048 rules`,
	} {
		_, err := GBNF([]byte(source))
		require.ErrorContains(t, err, want, "%.100s", source)
	}
	_, err := GBNF([]byte(strings.Replace(deep, `r0 ::= r1 "x"`, `r0 ::= "x" r1`, 1)))
	require.ErrorContains(t, err, "nested too deeply")
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " r%d", i)
	}
	return b.String()
}

// A set takes the characters of its ranges, however their bytes lie, and no bytes that are no character.
func TestSets(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	edges := []rune{0, 1, 0x7e, 0x7f, 0x80, 0x7fe, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xfffe, 0xffff, 0x10000, 0x10fffe, 0x10ffff}
	pick := func() rune {
		for {
			x := edges[r.IntN(len(edges))]
			if r.IntN(2) == 0 {
				x = rune(r.IntN(0x110000))
			}
			if utf8.ValidRune(x) {
				return x
			}
		}
	}
	for range 300 {
		not := r.IntN(3) == 0
		source, in := "root ::= [", func(rune) bool { return false }
		if not {
			source += "^"
		}
		var probe []rune
		for range 1 + r.IntN(3) {
			lo, hi := pick(), pick()
			lo, hi = min(lo, hi), max(lo, hi)
			source += fmt.Sprintf(`\U%08X-\U%08X`, lo, hi)
			before := in
			in = func(x rune) bool { return before(x) || lo <= x && x <= hi }
			probe = append(probe, lo-1, lo, lo+1, hi-1, hi, hi+1, (lo+hi)/2)
		}
		g, err := GBNF([]byte(source + "]"))
		if err != nil {
			require.ErrorContains(t, err, "the set is empty")
			continue
		}
		for range 20 {
			probe = append(probe, pick())
		}
		for _, x := range probe {
			if utf8.ValidRune(x) {
				require.Equal(t, in(x) != not, allows(g, string(x)), "%s: %U", source, x)
			}
		}
		for range 50 {
			text := make([]byte, 1+r.IntN(4))
			for i := range text {
				text[i] = byte(r.IntN(256))
			}
			if allows(g, string(text)) {
				require.True(t, utf8.Valid(text) && utf8.RuneCount(text) == 1, "%s: % x", source, text)
			}
		}
	}
}

// A character may come in parts, as tokens of single bytes bring it.
func TestGBNFParts(t *testing.T) {
	g, err := GBNF([]byte(`root ::= ("é" | "è" | [漢字])+ "."`))
	require.NoError(t, err)
	s := g.Start()
	for _, part := range []string{"\xc3", "\xa9\xe6", "\xbc", "\xa2\xc3\xa8", "."} {
		assert.False(t, s.Whole())
		next, ok := s.Next([]byte(part))
		require.True(t, ok, "%q", part)
		s = next
	}
	assert.True(t, s.Whole() && s.Ended())
	s, ok := g.Start().Next([]byte("\xc3"))
	require.True(t, ok)
	first := s.First()
	for b, ok := range first {
		assert.Equal(t, b == 0xa9 || b == 0xa8, ok, "%#x", b)
	}
	a, _ := g.Start().Next([]byte("é"))
	b, _ := a.Next([]byte("漢è"))
	assert.Same(t, a, b, "states are there once each")
}

func FuzzGBNF(f *testing.F) {
	for _, s := range []string{`root ::= "a" | [^b-c]+ x{2,3}` + "\nx ::= (root \"z\")? .", "root ::= \"\\u00e9\" # c\n", "root ::= root \"a\"", "root ::= (\"a\"? | [x]*)* \"b\"{0,}"} {
		f.Add([]byte(s), uint64(1))
	}
	f.Fuzz(func(t *testing.T, source []byte, seed uint64) {
		g, err := GBNF(source)
		if err != nil {
			require.Contains(t, err.Error(), "grammar: ")
			return
		}
		if text, ok := walk(rand.New(rand.NewPCG(seed, 1)), g, 200); ok {
			require.True(t, allows(g, text), "%s: %q", source, text)
			require.True(t, utf8.ValidString(text), "%s: %q", source, text)
		}
	})
}
