--- Asks the person: whether a tool call may run, or what the model wants to know.
---
--- A question is shown at once, in a window that leaves the cursor where it is. It takes the keyboard only in Normal
--- mode and after a moment in which no key is pressed, once; nothing in it is chosen by a single key, so that one that
--- was meant for the text answers nothing. One question is on the screen at a time.
local api = vim.api

local M = {}

---@class tandem.Question
---@field instance tandem.Instance
---@field session string
---@field call string
---@field title string
---@field body fun(p: tandem.Sheet)
---@field options {id: string, name: string}[]
---@field heading? string what stands over words of the person's own
---@field respond? fun(answer?: string) nil once it is answered; called with nil where nobody answers
---@field offered? boolean it has taken the keyboard once
---@field hidden? boolean somebody has closed its window
---@field writing? boolean the answer is being written
---@field deadline? integer

---@class tandem.Sheet
---@field lines string[]
---@field whole table<integer, string>
---@field rows table<integer, integer> the option of a line

local namespace = api.nvim_create_namespace('tandem_question')
local keys = api.nvim_create_namespace('tandem_question_keys')

local queue = {} ---@type tandem.Question[]
local timer ---@type uv.uv_timer_t?
local last_key = 0
local window, buffer, before ---@type integer?, integer?, integer?
local shown ---@type tandem.Question?

--- Notes the time of every key from now on; the present one counts as pressed.
function M.watch_keys()
  last_key = vim.uv.now()
  vim.on_key(function()
    last_key = vim.uv.now()
  end, keys)
end

---@return boolean
local function quiet()
  local idle = require('tandem.config').get().ask_idle_ms
  local mode = api.nvim_get_mode()
  local free = mode.mode == 'n' and not mode.blocking and vim.fn.getcmdwintype() == ''
  return free and vim.uv.now() - last_key >= idle
end

---@return boolean
local function is_open()
  return window ~= nil and api.nvim_win_is_valid(window)
end

---@return boolean
local function is_focused()
  return is_open() and api.nvim_get_current_win() == window
end

-- The window ---------------------------------------------------------------------------------------

---@param question tandem.Question
---@return tandem.Sheet
local function sheet(question)
  local p = { lines = {}, whole = {}, rows = {} } ---@type tandem.Sheet
  question.body(p)
  return p
end

--- Where the window stands: over the end of the chat while somebody works elsewhere, in the middle to be answered.
---@param focused boolean
---@param question tandem.Question
---@param lines string[]
---@return vim.api.keyset.win_config
local function place(focused, question, lines)
  local screen = { width = vim.o.columns, height = vim.o.lines - vim.o.cmdheight - 2 }
  local left, bottom, room = 0, screen.height + 1, screen.width
  local chat
  for _, win in ipairs(vim.fn.win_findbuf(question.instance.chat.buf)) do
    if api.nvim_win_get_tabpage(win) == api.nvim_get_current_tabpage() then
      chat = win
    end
  end
  if not focused and chat then
    local at = api.nvim_win_get_position(chat)
    left, room = at[2], api.nvim_win_get_width(chat)
    bottom = at[1] + api.nvim_win_get_height(chat) + 1
  end
  local width = 0
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  width = math.min(math.max(width + 1, vim.fn.strdisplaywidth(question.title) + 4, 46), room - 2, 110)
  local height = 0
  for _, line in ipairs(lines) do
    height = height + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width))
  end
  height = math.max(math.min(height, math.floor(screen.height * (focused and 0.8 or 0.6))), 1)
  local config = {
    relative = 'editor',
    width = width,
    height = height,
    style = 'minimal',
    border = 'rounded',
    title = { { ' ' .. vim.fn.strcharpart(question.title, 0, width - 4) .. ' ', 'TandemTitle' } },
    footer_pos = 'right',
    zindex = 60,
  }
  if focused then
    config.row, config.col = math.max(math.floor((screen.height - height) / 2) - 1, 0), (room - width) / 2
    config.footer = { { ' 1-9 or j k, then Enter · Esc: later ', 'TandemHint' } }
  else
    local hint = width > 40 and ' :Tandem answer, or wait in Normal mode ' or ' :Tandem answer '
    config.row, config.col = math.max(bottom - height - 2, 0), left + math.max(room - width - 2, 0)
    config.footer = { { hint, 'TandemHint' } }
  end
  return config
end

---@param id integer
local function close_window(id)
  if api.nvim_win_is_valid(id) then
    pcall(api.nvim_win_close, id, true)
  end
end

--- Takes the question off the screen and gives the keyboard back.
local function hide()
  local back = is_focused() and before
  local was = window
  window, shown = nil, nil
  if back and api.nvim_win_is_valid(back) then
    api.nvim_set_current_win(back)
  end
  if was then
    close_window(was)
  end
end

---@param question tandem.Question
---@param given? string
local function answer(question, given)
  local respond = question.respond
  question.respond = nil
  for i, other in ipairs(queue) do
    if other == question then
      table.remove(queue, i)
      break
    end
  end
  if shown == question then
    hide()
  end
  if respond then
    question.instance.chat:asking(question.call, false)
    respond(given)
  end
  require('tandem.status').changed()
end

--- Goes back to the text; the question waits.
local function later()
  if before and api.nvim_win_is_valid(before) then
    api.nvim_set_current_win(before)
  else
    vim.cmd('wincmd p')
  end
end

---@param question tandem.Question
local function in_own_words(question)
  hide()
  question.writing = true
  require('tandem.prompt').open({
    title = question.heading or question.title,
    on_submit = function(text)
      answer(question, text)
    end,
    on_close = function()
      question.writing = false
    end,
  })
end

--- Answers with the option on the line of the cursor.
local function confirm()
  local question = shown
  local option = question and vim.b[buffer].tandem_rows[tostring(api.nvim_win_get_cursor(0)[1])]
  if not question or not option then
    return
  elseif question.options[option] then
    answer(question, question.options[option].id)
  else
    in_own_words(question)
  end
end

---@param index integer
local function choose(index)
  for row, option in pairs(vim.b[buffer].tandem_rows) do
    if option == index then
      api.nvim_win_set_cursor(0, { tonumber(row), 1 })
    end
  end
end

---@return integer
local function make_buffer()
  local buf = api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].filetype = 'tandem-question'
  local function map(key, fn)
    vim.keymap.set('n', key, fn, { buffer = buf, nowait = true })
  end
  map('<CR>', confirm)
  map('<Esc>', later)
  map('q', later)
  for i = 1, 9 do
    map(tostring(i), function()
      choose(i)
    end)
  end
  return buf
end

---@param question tandem.Question
---@return boolean shown
local function show(question)
  if not buffer or not api.nvim_buf_is_valid(buffer) then
    buffer = make_buffer()
  end
  local p = sheet(question)
  vim.bo[buffer].modifiable = true
  api.nvim_buf_set_lines(buffer, 0, -1, true, p.lines)
  vim.bo[buffer].modifiable = false
  api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
  for row, group in pairs(p.whole) do
    api.nvim_buf_set_extmark(buffer, namespace, row - 1, 0, { line_hl_group = group })
  end
  local rows = vim.empty_dict()
  for row, option in pairs(p.rows) do
    rows[tostring(row)] = option
    api.nvim_buf_set_extmark(buffer, namespace, row - 1, 0, { end_col = 3, hl_group = 'TandemKey' })
  end
  vim.b[buffer].tandem_rows = rows
  -- There are moments in which no window can be opened.
  local ok, id = pcall(api.nvim_open_win, buffer, false, place(false, question, p.lines))
  if not ok then
    return false
  end
  window, shown = id, question
  local options = vim.wo[id][0]
  options.wrap, options.linebreak, options.cursorline, options.conceallevel = true, true, false, 0
  return true
end

--- Gives the keyboard to the question.
local function focus()
  local question = assert(shown)
  question.offered = true
  before = api.nvim_get_current_win()
  api.nvim_win_set_config(window, place(true, question, api.nvim_buf_get_lines(buffer, 0, -1, true)))
  api.nvim_set_current_win(window)
  vim.wo[window][0].cursorline = true
  api.nvim_win_set_cursor(window, { 1, 0 })
  local id = window
  api.nvim_create_autocmd('WinLeave', {
    buffer = buffer,
    once = true,
    callback = function()
      vim.schedule(function()
        if shown == question and window == id and is_open() and not is_focused() then
          vim.wo[id][0].cursorline = false
          api.nvim_win_set_config(id, place(false, question, api.nvim_buf_get_lines(buffer, 0, -1, true)))
        end
      end)
    end,
  })
end

local function tick()
  if #queue == 0 then
    if timer then
      timer:stop()
      timer:close()
      timer = nil
    end
    return
  end
  for _, question in ipairs(vim.list_slice(queue)) do
    if question.deadline and vim.uv.now() > question.deadline then
      answer(question)
    end
  end
  local question = queue[1]
  if not question then
    return
  elseif shown and not is_open() then
    shown, window = nil, nil -- somebody has closed it: it waits to be asked for
    question.hidden = true
  end
  if not shown and not question.hidden and not question.writing then
    show(question)
  end
  if shown and not question.offered and not is_focused() and quiet() then
    focus()
  end
end

---@param question tandem.Question
local function put(question)
  queue[#queue + 1] = question
  question.instance.chat:asking(question.call, true)
  require('tandem.status').changed()
  if not timer then
    timer = assert(vim.uv.new_timer())
    timer:start(0, 50, vim.schedule_wrap(tick))
  end
end

-- What is asked ------------------------------------------------------------------------------------

---@param p tandem.Sheet
---@param text string
---@param highlight? string
local function add(p, text, highlight)
  for _, line in ipairs(vim.split(text, '\n', { plain = true })) do
    p.lines[#p.lines + 1] = vim.fn.strtrans(line)
    p.whole[#p.lines] = highlight
  end
end

---@param p tandem.Sheet
---@param options {name: string}[]
local function add_options(p, options)
  add(p, '')
  for i, option in ipairs(options) do
    add(p, (' %d  %s'):format(i, (option.name:gsub('\n', ' '))))
    p.rows[#p.lines] = i
  end
end

---@param params tandem.PermissionParams
---@param options {id: string, name: string}[]
---@return string title
---@return fun(p: tandem.Sheet)
local function permission(params, options)
  local call = params.toolCall or {}
  local meta = vim.tbl_get(params, '_meta', 'tandem') or {}
  local command = vim.tbl_get(call, 'rawInput', 'command')
  local runs = type(command) == 'string'
  return runs and 'Tandem asks to run' or 'Tandem asks', function(p)
    local chat = require('tandem.chat')
    if runs then
      for _, line in ipairs(vim.split(command, '\n', { plain = true })) do
        add(p, '  ' .. line, 'TandemCommand')
      end
    else
      add(p, '  ' .. (call.title or 'a tool call'), 'TandemCommand')
    end
    if meta.danger == 'dangerous' then
      add(p, '  DANGEROUS: ' .. (meta.reason or ''), 'TandemFailed')
    elseif meta.reason and meta.reason ~= '' then
      add(p, '  ' .. meta.reason, 'TandemDim')
    end
    local diffs = {}
    for _, content in ipairs(call.content or {}) do
      local unified = content.type == 'diff' and vim.tbl_get(content, '_meta', 'tandem', 'unified')
      if unified then
        diffs[#diffs + 1] = unified
        local added, removed = chat.count(unified)
        local name = vim.fn.fnamemodify(content.path or '', ':.')
        add(p, ('  %s  +%d −%d%s'):format(name, added, removed, content.oldText and '' or '  (new)'), 'TandemDim')
      elseif content.type == 'diff' then
        add(p, ('  %s: the change is too large to be shown'):format(content.path or ''), 'TandemWaiting')
      end
    end
    add_options(p, options)
    for _, unified in ipairs(diffs) do
      add(p, '')
      local lines, highlights = chat.diff_lines(unified)
      for i, line in ipairs(lines) do
        p.lines[#p.lines + 1] = line
        p.whole[#p.lines] = highlights[i]
      end
    end
  end
end

--- Asks whether a tool call may run. respond is called once, now or later, with an ACP permission outcome; where nobody
--- answers it is cancelled.
---@param instance tandem.Instance
---@param params tandem.PermissionParams
---@param respond fun(outcome: tandem.PermissionOutcome)
function M.permission(instance, params, respond)
  local options = {}
  for i, option in ipairs(params.options or {}) do
    options[i] = { id = option.optionId, name = option.name }
  end
  if #options == 0 then
    return respond({ outcome = 'cancelled' })
  end
  local title, body = permission(params, options)
  put({
    instance = instance,
    session = params.sessionId,
    call = vim.tbl_get(params, 'toolCall', 'toolCallId'),
    title = title,
    body = body,
    options = options,
    respond = function(id)
      respond(id and { outcome = 'selected', optionId = id } or { outcome = 'cancelled' })
    end,
  })
end

--- Asks what the model wants to know. respond is called once, with the id of an option, the person's own words, or nil.
---@param instance tandem.Instance
---@param params tandem.ClarifyParams
---@param respond fun(answer?: string)
function M.clarify(instance, params, respond)
  local options, rows = {}, {}
  for i, option in ipairs(params.options or {}) do
    options[i] = { id = option.id, name = option.label }
    local default = option.id == params.defaultAnswer
    rows[i] = { name = default and option.label .. '  (if you do not answer)' or option.label }
  end
  rows[#rows + 1] = { name = 'In your own words …' }
  put({
    instance = instance,
    session = params.sessionId,
    call = params.toolCallId,
    title = 'Tandem wants to know',
    heading = vim.fn.strtrans(vim.split(params.question, '\n')[1]),
    deadline = params.timeoutMs and params.timeoutMs > 0 and vim.uv.now() + params.timeoutMs or nil,
    body = function(p)
      add(p, params.question)
      add_options(p, rows)
    end,
    options = options,
    respond = respond,
  })
end

--- Shows the question that waits and gives it the keyboard.
function M.answer()
  local question = queue[1]
  if not question then
    return require('tandem.chat').tell('nothing is asked')
  end
  question.hidden = false
  if not is_open() then
    show(question)
  end
  if shown and not is_focused() then
    focus()
  end
end

--- How many questions of a session wait.
---@param session? string
---@return integer
function M.waiting(session)
  local count = 0
  for _, question in ipairs(queue) do
    if question.session == session then
      count = count + 1
    end
  end
  return count
end

--- Takes back the questions of a session, or those of one of its calls, that are still open.
---@param session string
---@param call? string
function M.withdraw(session, call)
  for _, question in ipairs(vim.list_slice(queue)) do
    if question.session == session and (not call or question.call == call) then
      answer(question)
    end
  end
end

return M
