package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// runeLen is how many bytes of a text its next character takes; one that is not UTF-8 is one byte.
func runeLen(r rune, text string) int {
	if r == utf8.RuneError {
		_, n := utf8.DecodeRuneInString(text)
		return n
	}
	return utf8.RuneLen(r)
}

// piece is a part of a text, and whether it is its beginning.
type piece struct {
	text  string
	first bool
}

// splitter cuts pieces of a text into smaller ones, and may change them.
type splitter interface {
	split(p piece, f func(piece)) error
}

// splitters cut one after the other.
type splitters []splitter

func (s splitters) split(p piece, f func(piece)) error {
	if len(s) == 0 {
		f(p)
		return nil
	}
	var inner error
	err := s[0].split(p, func(part piece) {
		if inner == nil {
			inner = s[1:].split(part, f)
		}
	})
	if err == nil {
		err = inner
	}
	return err
}

// part hands on a part of a piece that begins at a byte.
func (p piece) part(from, to int, f func(piece)) {
	if from < to {
		f(piece{p.text[from:to], p.first && from == 0})
	}
}

// byPattern cuts where an expression matches. Stretches that match, or those that do not, may go.
type byPattern struct {
	p                      *pattern
	dropMatches, dropOther bool
}

func (s byPattern) split(p piece, f func(piece)) error {
	return s.p.split(p.text, func(from, to int, matches bool) {
		if matches && !s.dropMatches || !matches && !s.dropOther {
			p.part(from, to, f)
		}
	})
}

// byText cuts out each occurrence of a text.
type byText struct {
	text string
	drop bool
}

func (s byText) split(p piece, f func(piece)) error {
	from := 0
	for {
		n := strings.Index(p.text[from:], s.text)
		if n < 0 {
			p.part(from, len(p.text), f)
			return nil
		}
		p.part(from, from+n, f)
		if !s.drop {
			p.part(from+n, from+n+len(s.text), f)
		}
		from += n + len(s.text)
	}
}

// prefixed puts a space before a piece that does not begin with one.
type prefixed struct{}

func (prefixed) split(p piece, f func(piece)) error {
	if !strings.HasPrefix(p.text, " ") {
		p.text = " " + p.text
	}
	f(p)
	return nil
}

// byteLetters writes bytes as the letters of byte-level vocabularies.
type byteLetters struct{}

func (byteLetters) split(p piece, f func(piece)) error {
	f(piece{lettersOf(p.text), p.first})
	return nil
}

// runs cuts into runs of characters of one kind; kind 0 goes, kinds below 0 are pieces alone.
type runs func(r rune) int

func (kind runs) split(p piece, f func(piece)) error {
	from, last := 0, 0
	for i, r := range p.text {
		k := kind(r)
		if i > 0 && (k != last || k < 0) {
			if last != 0 {
				p.part(from, i, f)
			}
			from = i
		}
		last = k
	}
	if last != 0 {
		p.part(from, len(p.text), f)
	}
	return nil
}

// words are what BERT cuts into: at spaces, and around each punctuation mark.
func words(r rune) int {
	switch {
	case unicode.IsSpace(r):
		return 0
	case isPunctuation(r):
		return -1
	}
	return 1
}

// isPunctuation is what BERT takes for it: ASCII signs that are none of Unicode's punctuation too.
func isPunctuation(r rune) bool {
	return r < 0x80 && r > 0x20 && !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != 0x7f || r >= 0x80 && unicode.IsPunct(r)
}

// metaspace writes spaces as ▁, perhaps puts one before the text's first piece or before each, and cuts before each.
type metaspace struct {
	mark               string
	first, always, cut bool
	twice              bool // also before a piece that begins with one, as SentencePiece does
}

func (s metaspace) split(p piece, f func(piece)) error {
	p.text = strings.ReplaceAll(p.text, " ", s.mark)
	if (s.always || s.first && p.first) && (s.twice || !strings.HasPrefix(p.text, s.mark)) {
		p.text = s.mark + p.text
	}
	from := 0
	for s.cut {
		_, n := utf8.DecodeRuneInString(p.text[from:])
		next := strings.Index(p.text[from+n:], s.mark)
		if next < 0 {
			break
		}
		p.part(from, from+n+next, f)
		from += n + next
	}
	p.part(from, len(p.text), f)
	return nil
}

// Expressions of the families.
const (
	contractions = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	patternGPT2  = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	patternLlama = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	patternQwen  = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

	patternO200k = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` + contractions + `?|` +
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` + contractions + `?|` +
		`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	patternTekken = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|` +
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|` +
		`\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`

	deepseekCJK = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
	// letters with a case, as they were when the vocabulary was made
	deepseekLetters = "\\s?[" +
		"A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373\u0376\u0377" +
		"\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u10a0-" +
		"\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a\u1e00-\u1f15\u1f18-" +
		"\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-" +
		"\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115" +
		"\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-" +
		"\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-" +
		"\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3\U000104d8-" +
		"\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943" +
		"]+"
	deepseekMarks = "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-。]+"
	deepseekV3    = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
)

// families are the pre-tokenisers of byte-level vocabularies by the names that GGUF files give them: expressions, which cut one after
// the other.
var families = map[string][]string{
	"gpt-2":          {patternGPT2},
	"llama-bpe":      {patternLlama},
	"qwen2":          {patternQwen},
	"gpt-4o":         {patternO200k},
	"tekken":         {patternTekken},
	"starcoder":      {`\p{N}`, patternGPT2},
	"deepseek-llm":   {`[\r\n]`, deepseekLetters, deepseekMarks, `\s+$`, deepseekCJK, `\p{N}+`},
	"deepseek-coder": {`[\r\n]`, `\s?\p{L}+`, `\s?\p{P}+`, deepseekCJK, `\p{N}`},
	"deepseek-v3":    {`\p{N}{1,3}`, "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", deepseekV3},
	"default":        {`[\p{P}\$\+<=>\^~\|]+`, patternGPT2, `\p{N}+`, `[0-9][0-9][0-9]`},
}

// aliases are names of families that cut as another does.
var aliases = map[string]string{
	"phi-2": "gpt-2", "mpt": "gpt-2", "olmo": "gpt-2", "jais": "gpt-2", "trillion": "gpt-2", "granite-docling": "gpt-2", "roberta-bpe": "gpt-2", "gigachat": "gpt-2",
	"exaone4": "gpt-2",
	"llama3":  "llama-bpe", "llama-v3": "llama-bpe", "falcon3": "llama-bpe", "falcon-h1": "llama-bpe", "pixtral": "llama-bpe", "midm-2.0": "llama-bpe",
	"lfm2": "llama-bpe", "dbrx": "llama-bpe", "smaug-bpe": "llama-bpe", "chatglm-bpe": "llama-bpe",
	"stablelm2": "qwen2", "deepseek-r1-qwen": "qwen2", "hunyuan": "qwen2", "megrez": "qwen2",
	"llama4": "gpt-4o", "kanana2": "gpt-4o",
	"smollm": "starcoder", "refact": "starcoder", "command-r": "starcoder", "codeshell": "starcoder", "exaone": "starcoder", "minerva-7b": "starcoder",
	"hunyuan-dense": "deepseek-v3", "joyai-llm": "deepseek-v3", "deepseek3-llm": "deepseek-v3",
}

// wholes are the families that take a piece which is a token as it is, and want the token of a beginning before a text where a file does not
// say otherwise.
var wholes = map[string]bool{"llama-bpe": true, "llama3": true, "llama-v3": true, "falcon3": true, "falcon-h1": true, "pixtral": true, "midm-2.0": true,
	"lfm2": true, "tekken": true}

// family gives the splitters of a named family.
func family(name string) (splitters, bool) {
	if other, ok := aliases[name]; ok {
		name = other
	}
	list, ok := families[name]
	var out splitters
	for _, source := range list {
		p, err := parsePattern(source)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		out = append(out, byPattern{p: p})
	}
	return append(out, byteLetters{}), ok
}
