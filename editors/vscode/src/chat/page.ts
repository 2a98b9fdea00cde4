// The document that the chat's web page starts as. It takes scripts and styles from the extension alone, and nothing
// from the network.

export interface Sources {
  script: string;
  style: string;
  /** Where the extension's own files come from. */
  origin: string;
  nonce: string;
  language: string;
}

export function page(s: Sources): string {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${s.nonce}'`,
    `style-src ${s.origin}`,
    `img-src data:`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!DOCTYPE html>
<html lang="${s.language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${s.style}">
<title>Tandem</title>
</head>
<body>
<script nonce="${s.nonce}" src="${s.script}"></script>
</body>
</html>`;
}
