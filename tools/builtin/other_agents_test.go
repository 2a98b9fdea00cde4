package builtin_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tandem/tools/builtin"
	"tandem/tools/schema"
	"tandem/tools/toolstest"
)

// TestFindings plays what a model reads in each of the situations that a reader of it found wanting, a file each.
func TestFindings(t *testing.T) {
	toolstest.Cases(t, builtin.Tools()...)
}

// TestF184_F269OtherNames: the customary names of other agents' tools reach the tool that does the same, whatever the case of their
// letters.
func TestF184_F269OtherNames(t *testing.T) {
	set := toolstest.SetOf(builtin.Tools()...)
	for tool, names := range map[string]string{
		"read_file":   "read view cat_file Read view_image",
		"list_files":  "ls list_dir LS list_directory",
		"glob":        "Glob find_files",
		"grep":        "Grep search_code search_files search_file_content grep_search grep_files",
		"edit_file":   "edit Edit str_replace replace_string_in_file",
		"multi_edit":  "MultiEdit",
		"write_file":  "write Write create_file write_to_file",
		"patch":       "apply_patch",
		"delete_file": "remove",
		"move_file":   "rename_file mv",
		"bash":        "Bash shell execute exec_command local_shell run_shell_command execute_command run_command",
		"job_output":  "BashOutput TaskOutput",
		"job_kill":    "KillShell KillBash TaskStop",
		"fetch":       "WebFetch web_fetch",
		"web_search":  "tavily WebSearch google_web_search",
		"clarify":     "ask_user AskUserQuestion ask_followup_question request_user_input",
		"todo_write":  "TodoWrite write_todos update_plan",
		"task_list":   "TodoRead TaskList",
		"tool_search": "ToolSearch",
	} {
		for name := range strings.FieldsSeq(names) {
			for _, spelt := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
				if got := set.Get(spelt); got == nil || got.Spec().Name != tool {
					t.Errorf("%s does not reach %s", spelt, tool)
				}
			}
		}
	}
}

// TestFindingP4Parameters: the parameters that other agents' tools have for the same thing are understood and reported; one that means
// something else is refused, with the real names.
func TestFindingP4Parameters(t *testing.T) {
	set := toolstest.SetOf(builtin.Tools()...)
	for _, c := range []struct{ name, args, want string }{
		{"Grep", `{"pattern": "x", "-n": true, "-i": true, "-A": 1, "-B": 2}`, `{"after":1,"before":2,"case_insensitive":true,"head_limit":100,"output_mode":"content","path":".","pattern":"x"} [$.after $.before $.case_insensitive $["-n"]]`},
		{"Grep", `{"pattern": "x", "-C": 3, "-n": "true"}`, `{"context":3,"head_limit":100,"output_mode":"content","path":".","pattern":"x"} [$.context $["-n"]]`},
		{"Grep", `{"pattern": "x", "-n": false}`, `"-n" cannot be switched off: leave it out`},
		{"grep_files", `{"pattern": "x", "include": "*.go", "limit": 5}`, `{"glob":"*.go","head_limit":5,"output_mode":"content","path":".","pattern":"x"} [$.glob $.head_limit]`},
		{"search_file_content", `{"pattern": "x", "dir_path": "src", "include": "*.ts"}`, `{"glob":"*.ts","head_limit":100,"output_mode":"content","path":"src","pattern":"x"} [$.path $.glob]`},
		{"Grep", `{"pattern": "x", "-l": true}`, `unknown parameter "-l"; the parameters are pattern, path, glob, `},
		{"Grep", `{"pattern": "x", "files": ["a"]}`, `unknown parameter "files"; the parameters are pattern, path, glob, `},
		{"Grep", `{"pattern": "x", "case_sensitive": true}`, `unknown parameter "case_sensitive"; the parameters are pattern, path, glob, `},
		{"Read", `{"file_path": "a", "offset": 1, "limit": 9}`, `{"limit":9,"offset":1,"path":"a"} [$.path]`},
		{"read_file", `{"absolute_path": "/a"}`, `{"limit":2000,"path":"/a"} [$.path]`},
		{"Edit", `{"filePath": "a", "oldString": "x", "newString": "y", "replaceAll": true}`, `{"new_text":"y","old_text":"x","path":"a","replace_all":true} [$.path $.new_text $.old_text $.replace_all]`},
		{"Write", `{"file_path": "a", "contents": "x"}`, `{"content":"x","mode":"overwrite","path":"a"} [$.content $.path]`},
		{"exec_command", `{"cmd": "ls", "workdir": "/a", "justification": "why"}`, `{"command":"ls","cwd":"/a","description":"why"} [$.command $.description $.cwd]`},
		{"Bash", `{"command": "ls", "run_in_background": true}`, `{"background":true,"command":"ls"} [$.background]`},
		{"run_shell_command", `{"command": "ls", "dir_path": "/a", "is_background": true}`, `{"background":true,"command":"ls","cwd":"/a"} [$.cwd $.background]`},
		{"shell", `{"command": ["bash", "-lc", "ls"]}`, `command must be a string, got array of 3`},
		{"Bash", `{"command": "ls", "timeout": 120000}`, `timeout must be <= 600, got 120000 (it is in seconds; timeout_ms takes milliseconds)`},
		{"BashOutput", `{"bash_id": "job1"}`, `{"job_id":"job1","wait_ms":0} [$.job_id]`},
		{"KillShell", `{"shell_id": 1}`, `{"job_id":"1"} [$.job_id]`},
		{"apply_patch", `{"input": "x"}`, `{"patch":"x"} [$.patch]`},
		{"WebFetch", `{"url": "x", "prompt": "what?"}`, `unknown parameter "prompt"; the parameters are url, format, max_chars`},
	} {
		got := set.Get(c.name).Schema().Check(json.RawMessage(c.args), true)
		said := fmt.Sprintf("%s %v", got.Args, got.Coerced)
		if len(got.Issues) > 0 {
			said = got.Issues[0].Message
		}
		if said != c.want && !(len(got.Issues) > 0 && strings.HasPrefix(said, c.want)) {
			t.Errorf("%s %s:\n%s\nwant\n%s", c.name, c.args, said, c.want)
		}
	}
}

// TestF063Texts: where coercion is on, a number becomes the text of any parameter that is one, but of no path, pattern of paths, address,
// patch or command.
func TestF063Texts(t *testing.T) {
	exact := strings.Fields("path destination cwd command url patch glob glob.pattern list_files.pattern")
	coerced := 0
	for _, tool := range builtin.Tools() {
		var s struct {
			Properties map[string]struct {
				Type string
				Enum []any
			}
		}
		if err := json.Unmarshal(tool.Schema().JSON(), &s); err != nil {
			t.Fatal(err)
		}
		for name, p := range s.Properties {
			if p.Type != "string" || p.Enum != nil {
				continue
			}
			where := tool.Spec().Name + "." + name
			strict := slices.Contains(exact, name) || slices.Contains(exact, where)
			for _, value := range []string{"42", "1.50", "true"} {
				args := fmt.Sprintf(`{%q:%s}`, name, value)
				for _, on := range []bool{true, false} {
					got := tool.Schema().Check(json.RawMessage(args), on)
					wrong := slices.ContainsFunc(got.Issues, func(i schema.Issue) bool { return i.Path == "$."+name })
					if wrong != (strict || !on) || !wrong && !strings.Contains(string(got.Args), fmt.Sprintf(`%q:%q`, name, value)) {
						t.Errorf("%s %s with coercion %v: %s %+v", where, args, on, got.Args, got.Issues)
					}
					if !wrong {
						coerced++
					}
				}
			}
		}
	}
	if coerced == 0 {
		t.Error("no text was coerced")
	}
}
