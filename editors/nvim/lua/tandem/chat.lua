--- The window that shows a session: what was asked, the answer as it streams, the tool calls and how they went.
local api = vim.api

local M = {}

local namespace = api.nvim_create_namespace('tandem_chat')
local MAX_DIFF_LINES = 40

---@class tandem.Chat
---@field buf integer
---@field private calls table<string, table> the line of each tool call, by its id
---@field private in_text boolean the last line is streamed text that may go on
local Chat = {}
Chat.__index = Chat

local HIGHLIGHT = {
  completed = 'DiagnosticOk',
  failed = 'DiagnosticError',
  in_progress = 'DiagnosticInfo',
  pending = 'Comment',
}
local STATUS = { in_progress = 'running', pending = 'waiting' }

--- The lines that a unified diff adds and takes away.
---@param unified string
---@return integer added
---@return integer removed
function M.count(unified)
  local added, removed = 0, 0
  for line in vim.gsplit(unified, '\n', { plain = true }) do
    if line:find('^%+') and not line:find('^%+%+%+ ') then
      added = added + 1
    elseif line:find('^%-') and not line:find('^%-%-%- ') then
      removed = removed + 1
    end
  end
  return added, removed
end

--- Shows a message for a moment: its first line, cut to the width of the screen, so that no "Press ENTER" prompt comes
--- between two keystrokes.
---@param message string
---@param level? integer
function M.tell(message, level)
  local line = 'tandem: ' .. vim.split(message, '\n', { plain = true })[1]
  vim.notify(vim.fn.strcharpart(line, 0, math.max(vim.o.columns - 15, 20)), level or vim.log.levels.INFO)
end

---@param name string
---@return tandem.Chat
function M.new(name)
  local buf = api.nvim_create_buf(false, true)
  pcall(api.nvim_buf_set_name, buf, ('tandem://%d/%s'):format(buf, name))
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].filetype = 'tandem'
  vim.bo[buf].undolevels = -1
  vim.bo[buf].modifiable = false
  pcall(vim.treesitter.start, buf, 'markdown')
  return setmetatable({ buf = buf, calls = {}, in_text = false }, Chat)
end

--- Begins a session: ids of calls from before mean nothing any more.
function Chat:begin()
  self.calls = {}
end

--- Changes the buffer and keeps windows that stood at its end at its end.
---@private
---@param fn fun()
function Chat:update(fn)
  if not api.nvim_buf_is_valid(self.buf) then
    return
  end
  local count = api.nvim_buf_line_count(self.buf)
  local following = {}
  for _, window in ipairs(vim.fn.win_findbuf(self.buf)) do
    if api.nvim_win_get_cursor(window)[1] >= count then
      following[#following + 1] = window
    end
  end
  vim.bo[self.buf].modifiable = true
  fn()
  vim.bo[self.buf].modifiable = false
  count = api.nvim_buf_line_count(self.buf)
  for _, window in ipairs(following) do
    api.nvim_win_set_cursor(window, { count, 0 })
  end
end

--- Adds whole lines at the end.
---@private
---@param lines string[]
---@return integer row of the first of them
function Chat:lines(lines)
  local count = api.nvim_buf_line_count(self.buf)
  local first = count
  if count == 1 and api.nvim_buf_get_lines(self.buf, 0, 1, true)[1] == '' then
    first = 0
  end
  api.nvim_buf_set_lines(self.buf, first, count, true, lines)
  self.in_text = false
  return first
end

---@param text string
function Chat:asked(text)
  self:update(function()
    local empty = api.nvim_buf_line_count(self.buf) == 1
    local lines = vim.split(text, '\n', { plain = true })
    self:lines(vim.list_extend(empty and { '## You' } or { '', '## You' }, lines))
    self:lines({ '', '## Tandem', '' })
    self.in_text = true
  end)
end

--- Streams text of the answer.
---@param text string
function Chat:text(text)
  self:update(function()
    if not self.in_text then
      self:lines({ '' })
      self.in_text = true
    end
    local last = api.nvim_buf_line_count(self.buf) - 1
    local column = #api.nvim_buf_get_lines(self.buf, last, last + 1, true)[1]
    api.nvim_buf_set_text(self.buf, last, column, last, column, vim.split(text, '\n', { plain = true }))
  end)
end

--- Says something that is neither the person's nor the model's.
---@param text string
---@param highlight? string
function Chat:note(text, highlight)
  self:update(function()
    local lines = vim.split(text, '\n', { plain = true })
    local row = self:lines(lines)
    for i = row, row + #lines - 1 do
      api.nvim_buf_set_extmark(self.buf, namespace, i, 0, { line_hl_group = highlight or 'Comment' })
    end
  end)
end

---@param call table
---@return string
local function headline(call)
  local title = vim.fn.strtrans(vim.split(call.title or call.toolCallId, '\n', { plain = true })[1])
  local line = ('- %s [%s]'):format(title, STATUS[call.status] or call.status or 'waiting')
  if call.unified then
    line = line .. ('  +%d -%d'):format(M.count(call.unified))
  end
  local summary = call.status == 'failed' and vim.tbl_get(call, '_meta', 'tandem', 'error')
  return summary and line .. '  ' .. summary or line
end

--- Shows a tool call, or what has become of it.
---@param update table a `tool_call` or `tool_call_update`
function Chat:call(update)
  local call = self.calls[update.toolCallId] or {}
  self.calls[update.toolCallId] = call
  for _, key in ipairs({ 'toolCallId', 'title', 'status', '_meta' }) do
    call[key] = vim.F.if_nil(update[key], call[key])
  end
  local unified = {}
  for _, content in ipairs(update.content or {}) do
    if content.type == 'diff' then
      unified[#unified + 1] = vim.tbl_get(content, '_meta', 'tandem', 'unified')
    end
  end
  if #unified > 0 then
    call.unified = table.concat(unified, '\n')
  end
  self:update(function()
    local row
    if call.mark then
      row = api.nvim_buf_get_extmark_by_id(self.buf, namespace, call.mark, {})[1]
      local old = api.nvim_buf_get_lines(self.buf, row, row + 1, true)[1]
      api.nvim_buf_set_text(self.buf, row, 0, row, #old, { headline(call) })
    else
      row = self:lines({ headline(call) })
    end
    call.mark = api.nvim_buf_set_extmark(self.buf, namespace, row, 0, {
      id = call.mark,
      line_hl_group = HIGHLIGHT[call.status],
    })
    if call.unified and call.status == 'completed' and not call.shown then
      call.shown = true
      self:diff(row + 1, call.unified)
    end
  end)
end

---@private
---@param row integer
---@param unified string
function Chat:diff(row, unified)
  local lines, highlights = {}, {}
  for line in vim.gsplit(unified, '\n', { plain = true }) do
    local kind = line:sub(1, 1)
    if (kind == '+' or kind == '-') and not line:find('^%+%+%+ ') and not line:find('^%-%-%- ') then
      lines[#lines + 1] = '    ' .. vim.fn.strtrans(line)
      highlights[#lines] = kind == '+' and 'DiffAdd' or 'DiffDelete'
    end
  end
  local more = #lines - MAX_DIFF_LINES
  if more > 0 then
    lines = vim.list_slice(lines, 1, MAX_DIFF_LINES)
    lines[#lines + 1] = ('    … and %d more'):format(more)
  end
  api.nvim_buf_set_lines(self.buf, row, row, true, lines)
  for i = 1, #lines do
    api.nvim_buf_set_extmark(self.buf, namespace, row + i - 1, 0, { line_hl_group = highlights[i] or 'Comment' })
  end
end

--- Opens the chat beside the present window, which keeps the cursor.
function Chat:open()
  if #vim.fn.win_findbuf(self.buf) > 0 then
    return
  end
  local config = require('tandem.config').get()
  local upright = config.chat_position == 'left' or config.chat_position == 'right'
  local share = math.floor((upright and vim.o.columns or vim.o.lines) * config.chat_size)
  local window = api.nvim_open_win(self.buf, false, {
    split = config.chat_position,
    win = -1,
    [upright and 'width' or 'height'] = math.max(share, 1),
  })
  local options = vim.wo[window]
  options.wrap, options.linebreak, options.number, options.relativenumber = true, true, false, false
  options.signcolumn, options.foldcolumn, options.list = 'no', '0', false
  api.nvim_win_set_cursor(window, { api.nvim_buf_line_count(self.buf), 0 })
end

return M
