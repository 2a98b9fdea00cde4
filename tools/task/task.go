// Package task is the tools task_create, task_update, task_get and task_list, by which a model
// keeps a list of what it has to do, and todo_write, which takes the whole list as other agents'
// tools do.
package task

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tandem/filetime/text/show"
	"tandem/tools"
)

//go:embed task_create.md
var createDescription string

//go:embed task_update.md
var updateDescription string

//go:embed task_get.md
var getDescription string

//go:embed task_list.md
var listDescription string

//go:embed todo_write.md
var todoDescription string

const (
	// maxTasks is how many tasks a session has.
	maxTasks = 100
	// A title is one line of at most maxTitle characters.
	maxTitle = 200
)

type createInput struct {
	Title       string `json:"title" desc:"What is to be done, one line." minlen:"1" maxlen:"200" alias:"subject,content,name,step"`
	Description string `json:"description,omitempty" desc:"Details." maxlen:"4000"`
}

type updateInput struct {
	ID          string `json:"id" desc:"As task_create or task_list gave it." minlen:"1" alias:"task_id,number"`
	Status      string `json:"status" desc:"Its state from now on." enum:"pending,in_progress,completed,cancelled" alias:"state"`
	Title       string `json:"title,omitempty" desc:"A new title." maxlen:"200" alias:"subject,content,name,step"`
	Description string `json:"description,omitempty" desc:"New details." maxlen:"4000"`
}

type getInput struct {
	ID string `json:"id" desc:"As task_create or task_list gave it." minlen:"1" alias:"task_id,number"`
}

type listInput struct{}

type todo struct {
	Content  string `json:"content" desc:"What is to be done, one line." minlen:"1" maxlen:"200" alias:"title,subject,step,description,task,text"`
	Status   string `json:"status,omitempty" desc:"Its state." enum:"pending,in_progress,completed,cancelled" default:"pending" alias:"state"`
	Priority string `json:"priority,omitempty" desc:"For the user; no default." enum:"high,medium,low"`
	ID       string `json:"id,omitempty" desc:"Not used: the answer gives the ids."`
	Active   string `json:"active_form,omitempty" desc:"Not used."`
}

type todoInput struct {
	Todos       []todo `json:"todos" desc:"All tasks, in order." maxlen:"100" alias:"plan,tasks,items"`
	Explanation string `json:"explanation,omitempty" desc:"Not used."`
}

// One is what a program gets of a call about one task, All of a call about all of them.
type (
	One struct {
		Task tools.Task `json:"task"`
	}
	All struct {
		Tasks []tools.Task `json:"tasks"`
	}
)

// New makes the tools.
func New() []tools.Tool {
	return []tools.Tool{
		define("task_create", createDescription, []string{"TaskCreate"}, create,
			func(in createInput) string { return "New task: " + line(in.Title) }),
		define("task_update", updateDescription, []string{"TaskUpdate"}, update,
			func(in updateInput) string { return fmt.Sprintf("Task %s: %s", line(in.ID), in.Status) }),
		define("task_get", getDescription, []string{"TaskGet"}, get,
			func(in getInput) string { return "Task " + line(in.ID) }),
		define("task_list", listDescription, []string{"TaskList", "TodoRead"}, list,
			func(listInput) string { return "List the tasks" }),
		define("todo_write", todoDescription, []string{"TodoWrite", "write_todos", "update_plan"}, replace,
			func(in todoInput) string { return "Plan of " + tools.Count(len(in.Todos), "task") }),
	}
}

// define makes a tool of do, which works on the session's tasks.
func define[I any](
	name, description string, aliases []string, do func(tools.Tasks, I) (tools.Result, error), title func(I) string,
) tools.Tool {
	return tools.Define(tools.Definition[I]{
		Spec: tools.Spec{
			Name: name, Aliases: aliases, Kind: tools.Think, Category: "tasks", Description: strings.TrimSpace(description),
			Danger: tools.Safe, Class: tools.ClassExecute, Together: tools.WithReads, InOrder: true, NotDestructive: true,
			Unlisted: name == "todo_write", Source: "builtin", Deferred: true,
		},
		Title:   title,
		Subject: title,
		Outcome: func(r *tools.Result) string {
			if all, ok := r.Value.(All); ok {
				return counted(all.Tasks)
			}
			if one, ok := r.Value.(One); ok {
				return words[one.Task.Status]
			}
			return ""
		},
		Needs: tools.Always[I](tools.Need{Act: tools.Nothing}),
		Plan: func(_ context.Context, env *tools.Env, in I) (*tools.Plan, error) {
			if env.Tasks == nil {
				return nil, tools.Refuse(tools.Unsupported, "no_tasks", "There is no task list here. Nothing was changed. Continue without one.")
			}
			return &tools.Plan{Kind: tools.Think, Danger: tools.Safe, Run: func(context.Context) (tools.Result, error) {
				return do(env.Tasks, in)
			}}, nil
		},
	})
}

// line is a text as one line that hides nothing.
func line(s string) string {
	return show.Clip(show.Line(s), maxTitle)
}

func create(all tools.Tasks, in createInput) (tools.Result, error) {
	t := tools.Task{Title: line(in.Title), Description: in.Description, Status: tools.TaskPending}
	if t.Title == "" {
		return tools.Result{}, tools.Refuse(tools.InvalidArgs, "", "The title is empty. Nothing was added. Say in one line what has to be done.")
	}
	err := all.Change(func(list []tools.Task) ([]tools.Task, error) {
		if len(list) >= maxTasks {
			return nil, tools.Refuse(tools.InvalidArgs, "too_many_tasks", "There are already %d tasks, which is the limit. Nothing was added. "+
				"Put several steps into one task, or replace the list with todo_write.", maxTasks)
		}
		t.ID = strconv.Itoa(newest(list) + 1)
		return append(list, t), nil
	})
	if err != nil {
		return tools.Result{}, err
	}
	return tools.Result{
		Success: true, Data: fmt.Sprintf("Task %s created: %s", t.ID, t.Title), Summary: "New task: " + t.Title, Value: One{t},
	}, nil
}

// newest is the highest id.
func newest(list []tools.Task) (n int) {
	for _, t := range list {
		id, _ := strconv.Atoi(t.ID) // all are numbers
		n = max(n, id)
	}
	return n
}

func update(all tools.Tasks, in updateInput) (tools.Result, error) {
	var t tools.Task
	var now []tools.Task
	err := all.Change(func(list []tools.Task) ([]tools.Task, error) {
		i := find(list, in.ID)
		if i < 0 {
			return nil, unknown(list, in.ID)
		}
		list[i].Status = tools.TaskStatus(in.Status)
		if title := line(in.Title); title != "" {
			list[i].Title = title
		}
		if in.Description != "" {
			list[i].Description = in.Description
		}
		t, now = list[i], list
		return list, nil
	})
	if err != nil {
		return tools.Result{}, err
	}
	data := fmt.Sprintf("Task %s is %s: %s", t.ID, t.Status, t.Title)
	if next := open(now); t.Status == tools.TaskCompleted && next != nil {
		data += fmt.Sprintf("\nNext: task %s (%s): %s", next.ID, next.Status, next.Title)
	} else if t.Status == tools.TaskCompleted {
		data += "\nNo task is left."
	}
	return tools.Result{Success: true, Data: data, Summary: fmt.Sprintf("%s: %s", words[t.Status], t.Title), Value: One{t}}, nil
}

// words are the states for a person.
var words = map[tools.TaskStatus]string{
	tools.TaskPending: "To do", tools.TaskInProgress: "Begun", tools.TaskCompleted: "Done", tools.TaskCancelled: "Cancelled",
}

// open is the first task that is in progress, else the first that is to be begun; nil where there
// is none.
func open(list []tools.Task) *tools.Task {
	for _, s := range []tools.TaskStatus{tools.TaskInProgress, tools.TaskPending} {
		if i := slices.IndexFunc(list, func(t tools.Task) bool { return t.Status == s }); i >= 0 {
			return &list[i]
		}
	}
	return nil
}

func find(list []tools.Task, id string) int {
	id = strings.TrimPrefix(strings.TrimSpace(id), "#")
	return slices.IndexFunc(list, func(t tools.Task) bool { return t.ID == id })
}

// unknown refuses an id that no task has, and lists those that there are.
func unknown(list []tools.Task, id string) error {
	return tools.Refuse(tools.InvalidArgs, "unknown_task", "Task not found: %s. Nothing was changed.\n%s", strconv.Quote(line(id)), listed(list))
}

func get(all tools.Tasks, in getInput) (tools.Result, error) {
	list := all.Get()
	i := find(list, in.ID)
	if i < 0 {
		return tools.Result{}, unknown(list, in.ID)
	}
	t := list[i]
	data := fmt.Sprintf("%s. [%s] %s", t.ID, t.Status, t.Title)
	if t.Description != "" {
		data += "\n" + t.Description
	}
	return tools.Result{Success: true, Data: data, Summary: fmt.Sprintf("%s: %s", words[t.Status], t.Title), Value: One{t}}, nil
}

func list(all tools.Tasks, _ listInput) (tools.Result, error) {
	now := all.Get()
	return tools.Result{Success: true, Data: listed(now), Summary: counted(now), Value: All{append([]tools.Task{}, now...)}}, nil
}

// counted says in a line how far the list has come.
func counted(list []tools.Task) string {
	if len(list) == 0 {
		return "No tasks"
	}
	done := 0
	for _, t := range list {
		if t.Status == tools.TaskCompleted {
			done++
		}
	}
	return fmt.Sprintf("%s, %d completed", tools.Count(len(list), "task"), done)
}

func listed(list []tools.Task) string {
	var b strings.Builder
	b.WriteString(counted(list))
	for i, t := range list {
		if i == 0 {
			b.WriteString(":")
		}
		fmt.Fprintf(&b, "\n%s. [%s] %s", t.ID, t.Status, t.Title)
	}
	return b.String()
}

// replace makes the list what a call says. Tasks that were on it keep their ids.
func replace(all tools.Tasks, in todoInput) (tools.Result, error) {
	var now []tools.Task
	err := all.Change(func(list []tools.Task) ([]tools.Task, error) {
		now = []tools.Task{}
		next := newest(list)
		for _, d := range in.Todos {
			t := tools.Task{Title: line(d.Content), Status: tools.TaskStatus(d.Status), Priority: d.Priority}
			same := func(o tools.Task) bool { return o.Title == t.Title }
			if i := slices.IndexFunc(list, same); i >= 0 {
				t.ID, t.Description = list[i].ID, list[i].Description
				list = slices.Delete(list, i, i+1)
			} else {
				next++
				t.ID = strconv.Itoa(next)
			}
			now = append(now, t)
		}
		return now, nil
	})
	if err != nil {
		return tools.Result{}, err
	}
	return tools.Result{Success: true, Data: listed(now), Summary: counted(now), Value: All{now}}, nil
}
