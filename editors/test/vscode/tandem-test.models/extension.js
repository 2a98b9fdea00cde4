// Two language models that answer as a test says: `answer` plays the answers, `asked` has what they were asked. And a kind of
// notebook, with a cell for each line of its file.
const vscode = require('vscode');

exports.activate = (context) => {
  const api = { asked: [], answer: undefined };
  const model = (id) => ({
    id,
    name: `Test ${id}`,
    family: id,
    version: '1',
    maxInputTokens: 100_000,
    maxOutputTokens: 10_000,
    capabilities: { toolCalling: true, imageInput: true },
  });
  const provider = {
    provideLanguageModelChatInformation: () => [model('parrot'), model('crow')],
    provideLanguageModelChatResponse: async ({ id }, messages, options, progress, token) => {
      api.asked.push({ id, messages, options });
      await api.answer({ n: api.asked.length, progress, token });
    },
    provideTokenCount: async () => 1,
  };
  const book = {
    deserializeNotebook: (content) => {
      const lines = Buffer.from(content).toString().split('\n');
      return new vscode.NotebookData(lines.map((line) => new vscode.NotebookCellData(vscode.NotebookCellKind.Code, line, 'plaintext')));
    },
    serializeNotebook: ({ cells }) => Buffer.from(cells.map((cell) => cell.value).join('\n')),
  };
  context.subscriptions.push(vscode.workspace.registerNotebookSerializer('tandem-test.book', book));
  context.subscriptions.push(vscode.lm.registerLanguageModelChatProvider('tandem-test', provider));
  return api;
};
