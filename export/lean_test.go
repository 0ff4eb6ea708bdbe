package export

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Comments go, texts that look like them stay.
func TestLean(t *testing.T) {
	assert.Equal(t, `const a = 1
const b = 'what // is no comment'
const d = "it's // none"
const e = f('x')
g('https://weft.example') 
`, string(lean([]byte(`// A script.

/** Something
 *  said at length. */
  const a = 1 // a number, the engine's
  const b = 'what // is no comment'
  const d = "it's // none"
  const e = f('x')  // of 'x'
  /* c */
  g('https://weft.example') 
`))))
}
