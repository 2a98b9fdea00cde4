--- What an empty chat says.
local M = {}

--- The model that answers where none is set up.
M.EMBEDDED = 'script/embedded'

---@param instance tandem.Instance
---@param remarks string[] what is to be said of the session
---@return {[1]: string, [2]?: string}[][]
function M.lines(instance, remarks)
  local lines = {
    { { 'Ask the agent about ' }, { vim.fs.basename(instance.root), 'TandemCommand' }, { '.' } },
    { { '' } },
    { { '  i', 'TandemKey' }, { '              write to it, from here', 'TandemDim' } },
    { { '  :Tandem words', 'TandemKey' }, { '  the same, from anywhere', 'TandemDim' } },
    { { '  :Tandem stop', 'TandemKey' }, { '   end the turn', 'TandemDim' } },
    { { '  g?', 'TandemKey' }, { '             help', 'TandemDim' } },
    { { '' } },
    { { 'Keep typing meanwhile: edits arrive beside your', 'TandemDim' } },
    { { 'own, each one undo step, marked until you', 'TandemDim' } },
    {
      { ':Tandem accept', 'TandemKey' },
      { ' or ', 'TandemDim' },
      { ':Tandem reject', 'TandemKey' },
      { ' them.', 'TandemDim' },
    },
  }
  if instance.model == M.EMBEDDED then
    vim.list_extend(lines, {
      { { '' } },
      { { 'No model is set up.', 'TandemWaiting' }, { ' A script answers until you' } },
      { { 'name one, for example:' } },
      { { '' } },
      { { "  vim.g.tandem = { settings = {", 'TandemCommand' } },
      { { "    model = 'ollama/qwen3-coder' } }", 'TandemCommand' } },
      { { '' } },
      { { ':help tandem-model', 'TandemKey' }, { ' tells how to give a key.' } },
    })
  end
  for _, remark in ipairs(remarks) do
    vim.list_extend(lines, { { { '' } }, { { remark, 'TandemWaiting' } } })
  end
  return lines
end

return M
