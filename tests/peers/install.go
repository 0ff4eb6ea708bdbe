package main

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// versions are what Weft is compared with.
var versions = []string{"torch==2.15.0", "jax==0.10.2", "jaxlib==0.10.2", "onnxruntime==1.32.0", "onnx==1.23.2", "numpy==2.4.6"}

//go:embed python/*.py
var python embed.FS

// cacheDir is the folder of this program in the user's cache.
func cacheDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder for the other libraries: %w; name a Python that has them with -python", err)
	}
	dir := filepath.Join(cache, "weft", "peers")
	return dir, os.MkdirAll(dir, 0o777)
}

// install sees to a Python with the other libraries in the user's cache folder.
func install() (string, error) {
	dir, err := cacheDir()
	if err != nil {
		return "", err
	}
	env := filepath.Join(dir, "python")
	program := filepath.Join(env, "bin", "python")
	stamp, want := filepath.Join(dir, "installed"), strings.Join(versions, "\n")
	if have, err := os.ReadFile(stamp); err == nil && string(have) == want {
		return program, nil
	}
	fmt.Fprintf(os.Stderr, "installing %s into %s\n", strings.Join(versions, ", "), env)
	if out, err := exec.Command("python3", "-m", "venv", env).CombinedOutput(); err != nil {
		return "", fmt.Errorf("python3 -m venv: %w (on Debian: sudo apt-get install python3-venv)\n%s", err, out)
	}
	if out, err := exec.Command(program, append([]string{"-m", "pip", "install"}, versions...)...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("pip install: %w\n%s", err, out)
	}
	return program, os.WriteFile(stamp, []byte(want), 0o666)
}

// scripts puts the Python of this program into the cache folder and gives the one to start.
func scripts() (string, error) {
	dir, err := cacheDir()
	if err != nil {
		return "", err
	}
	files, err := fs.Glob(python, "python/*.py")
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "scripts")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	for _, name := range files {
		text, err := python.ReadFile(name)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o666); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "worker.py"), nil
}
