--- Asks the person whether a tool call may run.
---
--- A question takes the keyboard, so it must not come between keystrokes: it waits for Normal mode and a moment in
--- which no key is pressed. One question is on the screen at a time.
local M = {}

---@class tandem.Question
---@field session string
---@field call string
---@field prompt string
---@field options {optionId: string, name: string, kind: string}[]
---@field respond? fun(outcome: table) nil once it is answered

local queue = {} ---@type tandem.Question[]
local asking ---@type tandem.Question? the question on the screen
local timer ---@type uv.uv_timer_t?
local last_key = 0
local keys = vim.api.nvim_create_namespace('tandem_permission')

local CANCELLED = { outcome = 'cancelled' }

--- Notes the time of every key from now on; the present one counts as pressed.
function M.watch_keys()
  last_key = vim.uv.now()
  vim.on_key(function()
    last_key = vim.uv.now()
  end, keys)
end

--- What a person reads: the command word for word, or else the title, with control characters made visible.
---@param params table
---@return string
local function wording(params)
  local call = params.toolCall or {}
  local tandem = vim.tbl_get(params, '_meta', 'tandem') or {}
  local lines = {}
  local command = vim.tbl_get(call, 'rawInput', 'command')
  if type(command) == 'string' then
    lines[1] = 'Tandem asks to run:'
    for _, line in ipairs(vim.split(command, '\n', { plain = true })) do
      lines[#lines + 1] = '  ' .. vim.fn.strtrans(line)
    end
  else
    lines[1] = 'Tandem asks: ' .. vim.fn.strtrans(call.title or 'a tool call')
  end
  for _, content in ipairs(call.content or {}) do
    local unified = content.type == 'diff' and vim.tbl_get(content, '_meta', 'tandem', 'unified')
    if unified then
      local added, removed = require('tandem.chat').count(unified)
      local name = vim.fn.strtrans(vim.fn.fnamemodify(content.path or '', ':.'))
      lines[#lines + 1] = ('  %s  +%d -%d'):format(name, added, removed)
    end
  end
  if tandem.danger == 'dangerous' then
    lines[#lines + 1] = '  DANGEROUS: ' .. vim.fn.strtrans(tandem.reason or '')
  end
  return table.concat(lines, '\n')
end

---@param question tandem.Question
---@param outcome table
local function answer(question, outcome)
  local respond = question.respond
  question.respond = nil
  if respond then
    respond(outcome)
  end
end

--- The outcome of a choice. Turning away from the question refuses the call; the turn goes on.
---@param question tandem.Question
---@param choice? {optionId: string}
---@return table
local function outcome_of(question, choice)
  if not choice then
    for _, option in ipairs(question.options) do
      if option.kind == 'reject_once' then
        choice = option
        break
      end
    end
  end
  return choice and { outcome = 'selected', optionId = choice.optionId } or CANCELLED
end

---@return boolean
local function quiet()
  local idle = require('tandem.config').get().ask_idle_ms
  local mode = vim.api.nvim_get_mode()
  return mode.mode == 'n' and not mode.blocking and vim.uv.now() - last_key >= idle
end

--- vim.ui.select, but for the one that comes with Neovim before 0.12: until it is answered no message of the server is
--- heard, so that edits would wait with it. A prompt that hears them does the same there.
---@param items any[]
---@param opts {prompt: string, format_item: fun(item: any): string}
---@param on_choice fun(item?: any)
local function select(items, opts, on_choice)
  local own = debug.getinfo(vim.ui.select, 'S').source:find('vim/ui.lua', 1, true)
  if not own or vim.fn.has('nvim-0.12') == 1 then
    return vim.ui.select(items, opts, on_choice)
  end
  local lines = { opts.prompt }
  for i, item in ipairs(items) do
    lines[#lines + 1] = ('%d: %s'):format(i, opts.format_item(item))
  end
  lines[#lines + 1] = 'Type number and <Enter> (empty cancels): '
  local ok, answer = pcall(vim.fn.input, table.concat(lines, '\n'))
  on_choice(ok and items[tonumber(answer)] or nil)
end

local function next_question()
  while queue[1] and not queue[1].respond do
    table.remove(queue, 1)
  end
  local question = queue[1]
  if asking or not question or not quiet() then
    return
  end
  table.remove(queue, 1)
  asking = question
  local function chosen(choice)
    asking = nil
    answer(question, outcome_of(question, choice))
  end
  local ok, err = pcall(select, question.options, {
    kind = 'tandem_permission',
    prompt = question.prompt,
    format_item = function(option)
      return option.name
    end,
  }, chosen)
  if not ok then
    chosen(nil)
    error(err, 0)
  end
end

local function tick()
  if #queue == 0 and timer then
    timer:stop()
    timer:close()
    timer = nil
  else
    next_question()
  end
end

--- Puts a question to the person. respond is called once, now or later, with an ACP permission outcome.
---@param params table
---@param respond fun(outcome: table)
function M.ask(params, respond)
  local options = params.options or {}
  if #options == 0 then
    return respond(CANCELLED)
  end
  queue[#queue + 1] = {
    session = params.sessionId,
    call = vim.tbl_get(params, 'toolCall', 'toolCallId'),
    prompt = wording(params),
    options = options,
    respond = respond,
  }
  if not timer then
    timer = assert(vim.uv.new_timer())
    timer:start(0, 50, vim.schedule_wrap(tick))
  end
end

--- Takes back the questions of a session, or those of one of its calls, that are still open.
---@param session string
---@param call? string
function M.withdraw(session, call)
  local open = vim.list_slice(queue)
  open[#open + 1] = asking
  for _, question in ipairs(open) do
    if question.session == session and (not call or question.call == call) then
      answer(question, CANCELLED)
    end
  end
end

return M
