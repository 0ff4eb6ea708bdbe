package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const maxParts = 8 // depth of sequences in sequences

// partOf reads a component; ok is false for null.
func partOf(raw json.RawMessage, depth int) (p part, ok bool, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return p, false, nil
	}
	if depth > maxParts {
		return p, false, errors.New("sequences are nested too deep")
	}
	return p, true, json.Unmarshal(raw, &p)
}

func notKnown(p part) error { return fmt.Errorf("type %.32q is not known", p.Type) }

func normaliserOf(raw json.RawMessage, depth int) ([]normaliser, error) {
	p, ok, err := partOf(raw, depth)
	if !ok || err != nil {
		return nil, err
	}
	one := func(f normaliser) ([]normaliser, error) { return []normaliser{f}, nil }
	switch p.Type {
	case "Sequence":
		var all []normaliser
		for _, inner := range p.Normalizers {
			list, err := normaliserOf(inner, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, list...)
		}
		return all, nil
	case "NFC":
		return one(norm.NFC.String)
	case "NFD":
		return one(norm.NFD.String)
	case "NFKC":
		return one(norm.NFKC.String)
	case "NFKD":
		return one(norm.NFKD.String)
	case "Lowercase":
		return one(lower)
	case "StripAccents":
		return one(func(s string) string { return without(s, unicode.IsMark) })
	case "Strip":
		return one(func(s string) string {
			if p.StripLeft {
				s = strings.TrimLeftFunc(s, unicode.IsSpace)
			}
			if p.StripRight {
				s = strings.TrimRightFunc(s, unicode.IsSpace)
			}
			return s
		})
	case "Prepend":
		return one(func(s string) string {
			if s == "" {
				return s
			}
			return p.Prepend + s
		})
	case "Replace":
		return replaceOf(p)
	case "BertNormalizer":
		accents := p.Lowercase
		if p.StripAccents != nil {
			accents = *p.StripAccents
		}
		return one(bert(p.CleanText, p.ChineseChars, accents, p.Lowercase))
	}
	return nil, notKnown(p)
}

func replaceOf(p part) ([]normaliser, error) {
	switch {
	case p.Pattern != nil && p.Pattern.String != nil && *p.Pattern.String != "":
		from := *p.Pattern.String
		return []normaliser{func(s string) string { return strings.ReplaceAll(s, from, p.Content) }}, nil
	case p.Pattern != nil && p.Pattern.Regex != nil:
		return nil, errors.New("a regular expression in Replace is not known")
	}
	return nil, errors.New("type Replace without a pattern")
}

func splitterOf(raw json.RawMessage, depth int) (splitters, error) {
	p, ok, err := partOf(raw, depth)
	if !ok || err != nil {
		return nil, err
	}
	switch p.Type {
	case "Sequence":
		var all splitters
		for _, inner := range p.Pretokenizers {
			list, err := splitterOf(inner, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, list...)
		}
		return all, nil
	case "ByteLevel":
		return byteLevelOf(p)
	case "Split":
		return splitOf(p)
	case "Whitespace":
		return patternSplit(`\w+|[^\w\s]+`, true)
	case "WhitespaceSplit":
		return patternSplit(`\S+`, true)
	case "BertPreTokenizer":
		return splitters{runs(words)}, nil
	case "Punctuation":
		if p.Behavior != "" && p.Behavior != "Isolated" {
			return nil, fmt.Errorf("behavior %.32q of Punctuation is not known", p.Behavior)
		}
		return splitters{runs(func(r rune) int {
			if isPunctuation(r) {
				return -1
			}
			return 1
		})}, nil
	case "Digits":
		return splitters{runs(func(r rune) int {
			if !unicode.IsNumber(r) {
				return 1
			}
			if p.Individual {
				return -1
			}
			return 2
		})}, nil
	case "Metaspace":
		return metaspaceOf(p)
	}
	return nil, notKnown(p)
}

func byteLevelOf(p part) (splitters, error) {
	var all splitters
	if p.AddPrefixSpace == nil || *p.AddPrefixSpace {
		all = append(all, prefixed{})
	}
	if p.UseRegex == nil || *p.UseRegex {
		re, err := parsePattern(patternGPT2)
		if err != nil {
			return nil, err
		}
		all = append(all, byPattern{p: re})
	}
	return append(all, byteLetters{}), nil
}

func patternSplit(source string, dropOther bool) (splitters, error) {
	re, err := parsePattern(source)
	if err != nil {
		return nil, err
	}
	return splitters{byPattern{p: re, dropOther: dropOther}}, nil
}

func splitOf(p part) (splitters, error) {
	drop := false
	switch {
	case p.Behavior == "Isolated":
	case p.Behavior == "Removed":
		drop = true
	default:
		return nil, fmt.Errorf("behavior %.32q of Split is not known", p.Behavior)
	}
	switch {
	case p.Pattern != nil && p.Pattern.Regex != nil:
		re, err := parsePattern(*p.Pattern.Regex)
		if err != nil {
			return nil, err
		}
		return splitters{byPattern{re, drop && !p.Invert, drop && p.Invert}}, nil
	case p.Pattern != nil && p.Pattern.String != nil && *p.Pattern.String != "" && !p.Invert:
		return splitters{byText{*p.Pattern.String, drop}}, nil
	}
	return nil, errors.New("type Split without a pattern, or of all but a text")
}

func metaspaceOf(p part) (splitters, error) {
	m := metaspace{mark: p.Replacement, cut: p.Split == nil || *p.Split}
	switch {
	case p.PrependScheme == "first":
		m.first = true
	case p.PrependScheme == "always" || p.PrependScheme == "" && (p.AddPrefixSpace == nil || *p.AddPrefixSpace):
		m.always = true
	case p.PrependScheme == "never" || p.PrependScheme == "":
	default:
		return nil, fmt.Errorf("prepend_scheme %.32q is not known", p.PrependScheme)
	}
	if m.mark == "" {
		return nil, errors.New("type Metaspace without a replacement")
	}
	return splitters{m}, nil
}

// readPost reads what stands around a text.
func (t *Tokenizer) readPost(raw json.RawMessage, depth int) error {
	p, ok, err := partOf(raw, depth)
	if !ok || err != nil {
		return err
	}
	switch p.Type {
	case "Sequence":
		for _, inner := range p.Processors {
			if err := t.readPost(inner, depth+1); err != nil {
				return err
			}
		}
		return nil
	case "ByteLevel":
		return nil
	case "TemplateProcessing":
		into := &t.before
		for _, item := range p.Single {
			if _, ok := item["Sequence"]; ok {
				into = &t.after
				continue
			}
			ids := p.Specials[item["SpecialToken"].ID].IDs
			for _, id := range ids {
				if t.Token(id) == "" {
					return fmt.Errorf("token %d is not in the vocabulary", id)
				}
			}
			*into = append(*into, ids...)
		}
		return nil
	case "BertProcessing", "RobertaProcessing":
		var ends [2]int
		for i, raw := range []json.RawMessage{p.Cls, p.Sep} {
			var pair []any
			if err := json.Unmarshal(raw, &pair); err != nil || len(pair) != 2 {
				return errors.New("sep and cls are pairs of a token and its id")
			}
			id, ok := pair[1].(float64)
			if !ok || t.Token(int(id)) == "" {
				return fmt.Errorf("%.64v is not in the vocabulary", pair[1])
			}
			ends[i] = int(id)
		}
		t.before, t.after = append(t.before, ends[0]), append(t.after, ends[1])
		return nil
	}
	return notKnown(p)
}

func decoderOf(raw json.RawMessage) (decoder, error) {
	p, ok, err := partOf(raw, 0)
	if err != nil {
		return nil, err
	}
	if !ok {
		return decodePlain{}, nil
	}
	switch p.Type {
	case "ByteLevel":
		return decodeLetters{}, nil
	case "WordPiece":
		return decodeWords{p.Prefix, p.Cleanup}, nil
	case "Metaspace":
		trim := p.PrependScheme != "never" && (p.PrependScheme != "" || p.AddPrefixSpace == nil || *p.AddPrefixSpace)
		return decodeSpaces{mark: p.Replacement, trim: trim}, nil
	case "Sequence":
		return decoderSequence(p)
	}
	return nil, notKnown(p)
}

// decoderSequence knows the sequences of SentencePiece: ▁ becomes a space, bytes bytes, and a space at the beginning goes.
func decoderSequence(p part) (decoder, error) {
	out := decodeSpaces{}
	for _, raw := range p.Decoders {
		p, ok, err := partOf(raw, 1)
		if err != nil || !ok {
			return nil, errors.Join(err, errors.New("a part is null"))
		}
		switch {
		case p.Type == "Replace" && p.Pattern != nil && p.Pattern.String != nil && p.Content == " " && out.mark == "":
			out.mark = *p.Pattern.String
		case p.Type == "ByteFallback":
			out.fallback = true
		case p.Type == "Fuse":
		case p.Type == "Strip" && p.Content == " " && p.Start == 1 && p.Stop == 0:
			out.trim = true
		case p.Type == "Metaspace" && out.mark == "":
			inner, err := decoderOf(raw)
			if err != nil {
				return nil, err
			}
			out.mark, out.trim = inner.(decodeSpaces).mark, inner.(decodeSpaces).trim
		default:
			return nil, fmt.Errorf("a sequence with type %.32q, or in this way, is not known", p.Type)
		}
	}
	if out.mark == "" {
		return nil, errors.New("a sequence that replaces nothing by spaces is not known")
	}
	return out, nil
}
