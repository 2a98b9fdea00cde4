// The txtar format: a comment, then files, each after a line "-- name --".

export function parse(text) {
  const files = new Map();
  let comment = '';
  let name;
  for (const line of text.split(/(?<=\n)/)) {
    const marker = /^-- (.+) --\n?$/.exec(line);
    if (marker) {
      name = marker[1].trim();
      files.set(name, '');
    } else if (name === undefined) {
      comment += line;
    } else {
      files.set(name, files.get(name) + line);
    }
  }
  return { comment, files };
}

export function format({ comment, files }) {
  let out = comment;
  for (const [name, text] of files) {
    out += `-- ${name} --\n${text}${text === '' || text.endsWith('\n') ? '' : '\n'}`;
  }
  return out;
}
