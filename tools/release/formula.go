package main

import (
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// writeFormula writes Homebrew's recipe from deploy/homebrew/sluice.rb.tmpl. A platform that was not
// built is left out of it.
func (r *release) writeFormula(sums map[platform]string) error {
	recipe, err := template.ParseFiles(filepath.FromSlash("deploy/homebrew/sluice.rb.tmpl"))
	if err != nil {
		return err
	}
	type download struct{ URL, Sum string }
	files := map[string]map[string]download{} // by system and processor
	for p, sum := range sums {
		if p.os == "windows" {
			continue
		}
		if files[p.os] == nil {
			files[p.os] = map[string]download{}
		}
		files[p.os][p.arch] = download{r.base + "/" + p.archiveName(r.version), sum}
	}
	var text strings.Builder
	err = recipe.Execute(&text, struct {
		Version, Home string
		Files         map[string]map[string]download
	}{r.version, homePage(r.base), files})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "sluice.rb"), []byte(text.String()), 0o644) // #nosec G306 -- it is published
}

// homePage is the project's page, where base is a folder of its releases.
func homePage(base string) string {
	page, _, _ := strings.Cut(base, "/releases/")
	return page
}
