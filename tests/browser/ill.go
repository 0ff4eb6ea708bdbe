package browser

import (
	"os"
	"path/filepath"
)

// ill goes before the script of the engine's worker. The page may then send it {ill: 'gone'}: from now on the browser has no
// adapter; {ill: 'refuse'}: it refuses every shader; {ill: ”}: it is as it was.
const ill = `
{
	const plain = globalThis.GPUDevice?.prototype.createShaderModule
	addEventListener('message', (e) => {
		const how = e.data.ill
		if (how === undefined) return
		e.stopImmediatePropagation()
		delete navigator.gpu.requestAdapter
		if (how === 'gone') navigator.gpu.requestAdapter = async () => null
		GPUDevice.prototype.createShaderModule = how !== 'refuse' ? plain : function (given) {
			return plain.call(this, { ...given, code: given.code + '\nfn refused() -> i32 { return 1.5f; }\n' })
		}
	})
}
`

// Ill writes the engine's worker of a built site to a folder of its own, changed so that a page can have its graphics
// processor fail: served before the site, it takes the worker's place.
func Ill(built, folder string) error {
	script, err := os.ReadFile(filepath.Join(built, "worker.js"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "worker.js"), append([]byte(ill), script...), 0o666)
}
