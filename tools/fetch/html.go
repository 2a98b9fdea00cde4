package fetch

import (
	"context"
	"net/url"
	"strings"

	markdown "github.com/JohannesKaufmann/html-to-markdown/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// readable turns HTML into what a model reads.
func readable(ctx context.Context, page, format string, u *url.URL) (string, error) {
	if format == "raw" {
		return page, nil
	}
	if format == "markdown" {
		return markdown.ConvertString(page, converter.WithContext(ctx), converter.WithDomain(u.Scheme+"://"+u.Host))
	}
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	words(&b, root)
	var lines []string
	for line := range strings.Lines(b.String()) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n"), nil
}

// words writes the text of a page, a line for each block.
func words(b *strings.Builder, n *html.Node) {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Head, atom.Svg:
		return
	}
	if n.Type == html.TextNode {
		b.WriteString(strings.ReplaceAll(n.Data, "\n", " "))
	}
	for c := range n.ChildNodes() {
		words(b, c)
	}
	switch n.DataAtom {
	case 0, atom.A, atom.B, atom.I, atom.Em, atom.Strong, atom.Span, atom.Code, atom.Small, atom.Sub, atom.Sup:
	case atom.Td, atom.Th:
		b.WriteByte(' ')
	default:
		b.WriteByte('\n')
	}
}
