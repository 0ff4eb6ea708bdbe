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
}

func (s metaspace) split(p piece, f func(piece)) error {
	p.text = strings.ReplaceAll(p.text, " ", s.mark)
	if (s.always || s.first && p.first) && !strings.HasPrefix(p.text, s.mark) {
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

	deepseekCJK     = `[一-龥ࠀ-一가-퟿]+`
	deepseekLetters = `\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+`
	deepseekMarks   = "\\s?[!-/:-~！-／：-～‘-‟\u3000-。]+"
	deepseekV3      = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
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
	"deepseek-v3":    {`\p{N}{1,3}`, `[一-龥぀-ゟ゠-ヿ]+`, deepseekV3},
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
