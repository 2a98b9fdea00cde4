package commandline

import (
	"encoding"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"
)

func (v *value) boolean() bool { return v.field.Kind() == reflect.Bool }

// fill sets the field by a text. A list gets one element more.
func (v *value) fill(text string) error {
	v.set = true
	if v.field.Kind() != reflect.Slice {
		return v.convert(v.field, text)
	}
	element := reflect.New(v.field.Type().Elem()).Elem()
	err := v.convert(element, text)
	v.field.Set(reflect.Append(v.field, element))
	return err
}

// convert sets a field, or an element of one, by a text.
func (v *value) convert(to reflect.Value, text string) (err error) {
	switch own := to.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		return own.UnmarshalText([]byte(text))
	case *time.Duration:
		if *own, err = time.ParseDuration(text); err != nil {
			err = fmt.Errorf("expected duration but got %q: %w", text, err)
		}
	case *string:
		*own, err = located(v.kind, text)
	case *int:
		if *own, err = strconv.Atoi(text); err != nil {
			err = fmt.Errorf("expected a number but got %q", text)
		}
	case *bool:
		*own, err = truth(text)
	default:
		err = fmt.Errorf("a field of the type %T cannot be set", own)
	}
	return err
}

func truth(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "1", "yes":
		return true, nil
	case "false", "0", "no":
		return false, nil
	}
	return false, fmt.Errorf("bool value must be true, 1, yes, false, 0 or no but got %q", text)
}

// located is a text as a value of one of the types of paths, or itself if kind is "".
func located(kind, text string) (string, error) {
	if kind == "" {
		return text, nil
	}
	if rest, ok := strings.CutPrefix(text, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		text = home + rest
	}
	path, err := filepath.Abs(text)
	if err != nil || kind != "existingdir" {
		return path, err
	}
	switch info, err := os.Stat(path); {
	case err != nil:
		return "", err
	case !info.IsDir():
		return "", errors.New(strconv.Quote(text) + " exists but is not a directory")
	}
	return path, nil
}
