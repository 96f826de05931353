// Renders the templates of a chart as Helm does: Go's text/template with the functions of Sprig and toYaml.
// Arguments: the folder of the chart, and a file with all values as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

func main() {
	folder := os.Args[1]
	var values, chart map[string]interface{}
	check(json.Unmarshal(read(os.Args[2]), &values))
	check(yaml.Unmarshal(read(filepath.Join(folder, "Chart.yaml")), &chart))
	functions := sprig.TxtFuncMap()
	functions["toYaml"] = func(value interface{}) string {
		text, err := yaml.Marshal(value)
		check(err)
		return strings.TrimSuffix(string(text), "\n")
	}
	context := map[string]interface{}{
		"Values":  values,
		"Release": map[string]string{"Name": "mail"},
		"Chart":   map[string]interface{}{"AppVersion": chart["appVersion"]},
	}
	paths, err := filepath.Glob(filepath.Join(folder, "templates", "*.yaml"))
	check(err)
	for _, path := range paths {
		one, err := template.New(path).Funcs(functions).Option("missingkey=error").Parse(string(read(path)))
		check(err)
		fmt.Println("---")
		check(one.Execute(os.Stdout, context))
	}
}

func read(path string) []byte {
	content, err := os.ReadFile(path)
	check(err)
	return content
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
