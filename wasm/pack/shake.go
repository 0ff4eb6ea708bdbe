package main

import "strings"

// Go's linker keeps what may be called. Some of it never is in a page: the execution tracer, profiles, metrics, what
// prints stacks when a program dies (nobody would see them, and their names are gone), times as text, method values
// of package reflect. Such functions become a trap; the browser's console tells if one is reached after all.
//
// A name here is how names of functions begin, as the linker writes them into the module: ( ) * and / are _.
var never = strings.Fields(`
	runtime.traceLocker runtime.__trace runtime.traceAdvance runtime.traceWriter runtime.traceEventWriter runtime.traceStack
	runtime.traceReadCPU runtime.traceThread runtime.traceRegister runtime.traceStop runtime.traceCPU
	runtime.traceback1 runtime.traceback2 runtime.tracebackothers runtime.tracebacksomeothers runtime.tracebackHexdump
	runtime.schedtrace runtime.printAncestor runtime.printCgo runtime.printOneCgo runtime.printArgs runtime.goroutineheader
	runtime.__hexdumper runtime.printcreatedby runtime.printScavTrace runtime.dumpScanStats runtime.gcDumpObject
	runtime.__mspan_.reportZombies runtime.dumpStacksRec runtime.dumpTypesRec runtime.printanycustomtype
	runtime.initMetrics runtime.__profBuf runtime.saveblockevent runtime.fpunwindExpand runtime.fpTracebackP
	runtime.checkFinalizersAndCleanups runtime.setCheckmark runtime.startCheckmarks runtime.expandCgo
	time.Time.appendFormat time.nextStdChunk time.Time.GoString time.Time.Format time.Time.String time.Time.Append time.quote
	time.tzset
	reflect.callMethod reflect.methodReceiver reflect.funcLayout reflect.newAbiDesc reflect.__abiSeq_
	internal_bisect.__ internal_bisect.New
`)

// small is a body that is not worth it: among them are the questions whether the tracer is on.
const small = 200

// trap is a body without locals that traps.
var trap = []byte{0, 0x00, end}

// shake replaces the bodies of functions that are never called. imported is how many functions come from outside, which
// are counted first.
func shake(section []byte, names map[int]string, imported int) []byte {
	r := &reader{b: section}
	n := r.uint()
	out := appendUint(nil, uint64(n))
	for f := range n {
		body := r.bytes(r.uint())
		for _, prefix := range never {
			if len(body) > small && strings.HasPrefix(names[imported+f], prefix) {
				body = trap
				break
			}
		}
		out = appendUint(out, uint64(len(body)))
		out = append(out, body...)
	}
	return out
}

// functionNames reads the name section of a module, if it has one.
func functionNames(module []byte) map[int]string {
	names := map[int]string{}
	r := &reader{b: module, at: 8}
	for r.at < len(r.b) && r.err == nil {
		id := r.byte()
		s := &reader{b: r.bytes(r.uint())}
		if id != customSection || string(s.bytes(s.uint())) != "name" {
			continue
		}
		for s.at < len(s.b) && s.err == nil {
			kind := s.byte()
			t := &reader{b: s.bytes(s.uint())}
			if kind != 1 { // of functions
				continue
			}
			for range t.uint() {
				index := t.uint()
				names[index] = string(t.bytes(t.uint()))
			}
		}
	}
	return names
}

// importedFunctions counts the imports, which are all functions.
func importedFunctions(section []byte) int { return (&reader{b: section}).uint() }
