package tools

// TaskStatus is how far a task has come.
type TaskStatus string

// The states of a task.
const (
	TaskPending    TaskStatus = "pending"
	TaskInProgress TaskStatus = "in_progress"
	TaskCompleted  TaskStatus = "completed"
	TaskCancelled  TaskStatus = "cancelled"
)

// Task is a piece of work on the model's own list. Priority is "high", "medium" or "low"; "" is medium.
type Task struct {
	ID          string     `json:"id"`
	Title       string     `json:"title"`
	Description string     `json:"description,omitempty"`
	Status      TaskStatus `json:"status"`
	Priority    string     `json:"priority,omitempty"`
}

// Tasks is the task list of a session, which is stored with it. All methods may be called concurrently.
type Tasks interface {
	// Get gives the tasks in their order. The list is the caller's.
	Get() []Task
	// Change replaces the tasks by what change makes of them, atomically. An error of change leaves them as they are.
	Change(change func([]Task) ([]Task, error)) error
}
