package main

import (
	"errors"
	"fmt"
)

// errForm says that a module has a form that split does not know. It is left in one part then.
var errForm = errors.New("this is not the form that Go's linker was known to write")

const (
	typeSection     = 1
	functionSection = 3
	tableSection    = 4
	globalSection   = 6
	exportSection   = 7
	startSection    = 8
	elementSection  = 9
)

// The opcodes that are named here; of others only the operands matter.
const (
	opIf           = 0x04
	opCall         = 0x10
	opCallIndirect = 0x11
	opLocalGet     = 0x20
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opEqz          = 0x45
	noType         = 0x40
)

// section is one of a module.
type section struct {
	id   byte
	body []byte
}

// form is a module of Go's linker: what of it two parts share.
type form struct {
	sections []section
	imported []int    // the types of imported functions
	hook     int      // the imported function weft.rest
	types    []int    // of the module's own functions
	globals  [][]byte // their types: what they hold, and whether they vary
	first    int      // the place in the table of the module's first function; the others follow in order
	bodies   [][]byte
	goes     []bool // of each type whether it is i32 -> i32, that of all functions in Go
}

func (m *form) section(id byte) *reader {
	for _, s := range m.sections {
		if s.id == id {
			return &reader{b: s.body}
		}
	}
	return &reader{err: fmt.Errorf("section %d is missing: %w", id, errForm)}
}

// formOf reads a module.
func formOf(module []byte) (*form, error) {
	m := &form{hook: -1}
	if err := m.readSections(module); err != nil {
		return nil, err
	}
	for _, read := range []func() error{m.readTypes, m.readImports, m.readFunctions, m.readGlobals, m.readElements, m.readBodies} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

const i32 = 0x7f

func (m *form) readSections(module []byte) error {
	r := &reader{b: module, at: 8}
	for r.at < len(r.b) && r.err == nil {
		id := r.byte()
		m.sections = append(m.sections, section{id, r.bytes(r.uint())})
	}
	return r.err
}

func (m *form) readTypes() error {
	r := m.section(typeSection)
	for range r.uint() {
		if r.byte() != 0x60 {
			return fmt.Errorf("a type that is no function's: %w", errForm)
		}
		params := r.bytes(r.uint())
		results := r.bytes(r.uint())
		m.goes = append(m.goes, string(params) == "\x7f" && string(results) == "\x7f")
	}
	return r.err
}

func (m *form) readImports() error {
	r := m.section(importSection)
	for i := range r.uint() {
		from, name := string(r.bytes(r.uint())), string(r.bytes(r.uint()))
		if r.byte() != 0 {
			return fmt.Errorf("the import %s.%s is no function: %w", from, name, errForm)
		}
		if from == "weft" && name == "rest" {
			m.hook = i
		}
		m.imported = append(m.imported, r.uint())
	}
	if m.hook < 0 && r.err == nil {
		return errors.New("the module does not import weft.rest, by which its rest is loaded")
	}
	return r.err
}

func (m *form) readFunctions() error {
	r := m.section(functionSection)
	for range r.uint() {
		t := r.uint()
		if t < 0 || t >= len(m.goes) {
			return fmt.Errorf("a function of type %d: %w", t, errForm)
		}
		m.types = append(m.types, t)
	}
	return r.err
}

func (m *form) readGlobals() error {
	r := m.section(globalSection)
	for range r.uint() {
		m.globals = append(m.globals, r.bytes(2))
		if op := r.byte(); op != i32Const && op != i64Const {
			return fmt.Errorf("a global that begins otherwise than as a number: %w", errForm)
		}
		r.sint()
		if r.byte() != end {
			return fmt.Errorf("a global that begins otherwise than as a number: %w", errForm)
		}
	}
	return r.err
}

// readElements sees to it that the table has all functions, in order.
func (m *form) readElements() error {
	r := m.section(elementSection)
	if r.uint() != 1 || r.uint() != 0 || r.byte() != i32Const {
		return fmt.Errorf("elements: %w", errForm)
	}
	m.first = r.sint()
	if r.byte() != end || r.uint() != len(m.types) {
		return fmt.Errorf("elements: %w", errForm)
	}
	for i := range m.types {
		if r.uint() != len(m.imported)+i {
			return fmt.Errorf("elements: %w", errForm)
		}
	}
	return r.err
}

func (m *form) readBodies() error {
	r := m.section(codeSection)
	if n := r.uint(); n != len(m.types) && r.err == nil {
		return fmt.Errorf("%d functions of %d have code: %w", n, len(m.types), errForm)
	}
	for range m.types {
		m.bodies = append(m.bodies, r.bytes(r.uint()))
	}
	return r.err
}

// calls goes through the instructions of a function and has f write each call of another, which it knows by its number: what f gives
// stands in the call's place, nil for the call as it is.
func calls(body []byte, f func(function int) []byte) ([]byte, error) {
	r := instructions(body)
	var out []byte
	done := 0
	for r.at < len(body) && r.err == nil {
		from := r.at
		op := r.byte()
		if op != opCall {
			if err := operands(r, op); err != nil {
				return nil, err
			}
			continue
		}
		if instead := f(r.uint()); instead != nil {
			out = append(append(out, body[done:from]...), instead...)
			done = r.at
		}
	}
	return append(out, body[done:]...), r.err
}

// numbers goes through the instructions of a function and gives f the constants of 64 bits.
func numbers(body []byte, f func(v int64)) error {
	for r := instructions(body); r.at < len(body); {
		if op := r.byte(); op == i64Const {
			f(int64(r.sint()))
		} else if err := operands(r, op); err != nil {
			return err
		}
		if r.err != nil {
			return r.err
		}
	}
	return nil
}

// instructions reads a function behind its locals.
func instructions(body []byte) *reader {
	r := &reader{b: body}
	for range r.uint() {
		r.uint()
		r.byte()
	}
	return r
}

// operands goes past what follows an opcode.
func operands(r *reader, op byte) error {
	switch {
	case op >= 0x02 && op <= 0x04: // block, loop, if: a type, or its number
		r.sint()
	case op == 0x0c || op == 0x0d || op == opCall || op >= 0x20 && op <= 0x26: // branches; calls; variables, tables
		r.uint()
	case op == 0x0e: // br_table
		for range r.uint() + 1 {
			r.uint()
		}
	case op == opCallIndirect || op >= 0x28 && op <= 0x3e: // and loads, stores
		r.uint()
		r.uint()
	case op == 0x3f || op == 0x40: // memory.size, memory.grow
		r.byte()
	case op == i32Const || op == i64Const:
		r.sint()
	case op == 0x43:
		r.bytes(4)
	case op == 0x44:
		r.bytes(8)
	case op == 0xfc:
		switch sub := r.uint(); {
		case sub <= 7: // saturating conversions
		case sub == 10: // memory.copy
			r.bytes(2)
		case sub == 11: // memory.fill
			r.bytes(1)
		default:
			return fmt.Errorf("instruction 0xfc %d: %w", sub, errForm)
		}
	case op <= 0x01 || op == 0x05 || op == end || op == 0x0f || op == 0x1a || op == 0x1b || op >= opEqz && op <= 0xc4: // without operands
	default:
		return fmt.Errorf("instruction %#x: %w", op, errForm)
	}
	return nil
}
