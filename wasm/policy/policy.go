// Package policy has the content security policies that pages with Weft work under: the one that anybody's page may have, and the narrower one of
// the site. What serves pages sends them, tests hold pages to them, and docs quote them.
//
// It refuses to know who sends them.
//
//	header.Set("Content-Security-Policy", policy.Strict+policy.Trusted(policy.Engine))
package policy

import "strings"

// Strict is the strictest that lets a page run scripts of its own and WebAssembly: the engine, the player of exported folders and its element work under it.
const Strict = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; require-trusted-types-for 'script'"

// Names of the policies for addresses of scripts (trusted types) that Weft makes, each where a browser asks for one: a list of those that a page allows must
// name what it uses.
const (
	Engine = "weft"
	Player = "weft-model"
	pages  = "site"
)

// Names are all of them, those of the site's own pages among them.
var Names = []string{Engine, Player, pages}

// Trusted is what a policy goes on with that lists the names it allows.
func Trusted(names ...string) string { return "; trusted-types " + strings.Join(names, " ") }

// Page is what each page of the site says of itself, before the names: nothing from elsewhere, no inline scripts or styles, no eval, no address
// of a script that is a mere string; WebAssembly may be compiled.
const Page = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; " +
	"base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"

// Site is what a server of the site sends: that, and what only a header can say.
func Site() string { return Page + Trusted(Names...) + "; frame-ancestors 'none'" }

// Elsewhere is what a policy must let a page do that takes the engine from another origin, such as https://cdn.example: its worker is started by a script
// that imports it.
func Elsewhere(origin string) string {
	return "worker-src blob: " + origin + "; script-src " + origin + " 'wasm-unsafe-eval'; connect-src " + origin
}
