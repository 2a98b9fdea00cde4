--- The window that shows a session: what was asked, the answer as it streams, the tool calls and how they went.
---
--- The conversation is a list of items. They are drawn as blocks of lines, one below the other: an item, or several
--- calls that only look around. What a block has below its first line is a fold.
local api = vim.api
local protocol = require('tandem.protocol')
local spans = require('tandem.spans')
local visible = require('tandem.visible')

local M = {}

local namespace = api.nvim_create_namespace('tandem_chat')

--- So many lines of a diff or of what a command prints are shown.
local MAX_BODY = 200
local INDENT = '    ' -- Markdown takes nothing in it for a fence or a list

---@class tandem.Item
---@field type 'message'|'thought'|'call'|'plan'|'notice'|'ending'|'info'
---@field role? 'user'|'agent'
---@field entries? tandem.PlanEntry[] of a plan
---@field text? string
---@field open? boolean more text may come
---@field id? string of a call, and what is known of it:
---@field title? string
---@field kind? string
---@field status? 'pending'|'in_progress'|'completed'|'failed'
---@field group? string
---@field meta? tandem.UpdateMeta
---@field unified? string
---@field changed? tandem.LineSpan[] of unified
---@field output? string
---@field content? string
---@field locations? tandem.Location[]
---@field asked? boolean a person was asked about it
---@field waiting? boolean the question is open
---@field highlight? string
---@field added? boolean it was said to a running turn, and the model has not got it yet

---@class tandem.Block
---@field items tandem.Item[] one, or the calls of a group
---@field gap integer empty lines before it
---@field lines string[] as they are in the buffer

---@class tandem.Chat
---@field buf integer
---@field items tandem.Item[]
---@field instance? tandem.Instance whose sessions it shows
---@field private calls table<string, tandem.Item>
---@field private blocks tandem.Block[]
---@field private echo string what is still to come of a prompt that is sent back
---@field private welcome? boolean the buffer says how to begin
---@field private holding? boolean nothing is drawn for now
---@field private plan? tandem.Item the model's tasks
local Chat = {}
Chat.__index = Chat

local ICONS = {
  read = '▤',
  search = '⌕',
  edit = '✎',
  delete = '✕',
  move = '→',
  execute = '❯',
  fetch = '⇣',
  think = '☰',
  other = '•',
}

local STATE_HIGHLIGHT = {
  completed = 'TandemDone',
  failed = 'TandemFailed',
  in_progress = 'TandemRunning',
  pending = 'TandemWaiting',
}

--- The lines that a unified diff adds and takes away.
---@param unified string
---@return integer added
---@return integer removed
function M.count(unified)
  local added, removed, in_hunk = 0, 0, false
  for line in vim.gsplit(unified, '\n', { plain = true }) do
    local sign = line:sub(1, 1)
    if sign == '@' then
      in_hunk = true
    elseif line:find('^%-%-%- ') and not in_hunk then
      in_hunk = false
    elseif in_hunk and sign == '+' then
      added = added + 1
    elseif in_hunk and sign == '-' then
      removed = removed + 1
    end
  end
  return added, removed
end

--- The lines of a unified diff as they are shown, the highlight of each, and those of its changed parts.
---@param unified string
---@param changed? tandem.LineSpan[]
---@return string[] lines
---@return table<integer, string> highlights
---@return table<integer, {[1]: integer, [2]: integer, [3]: string}[]> parts
function M.diff_lines(unified, changed)
  local lines, highlights, parts, in_hunk = {}, {}, {}, false
  local of_diff = spans.of_diff(unified, changed)
  for line in vim.gsplit((unified:gsub('\n$', '')), '\n', { plain = true }) do
    local sign = line:sub(1, 1)
    local shown = ''
    for _, piece in ipairs(spans.pieces(line, of_diff[#lines + 1])) do
      local from = #shown
      shown = shown .. visible.line((piece.text:gsub('\t', '  ')))
      if piece.changed then
        parts[#lines + 1] = parts[#lines + 1] or {}
        table.insert(parts[#lines + 1], { from, #shown, sign == '+' and 'TandemAddedText' or 'TandemRemovedText' })
      end
    end
    lines[#lines + 1] = shown
    if sign == '@' then
      in_hunk = true
      highlights[#lines] = 'TandemRange'
    elseif not in_hunk then
      highlights[#lines] = 'TandemFile'
    elseif sign == '+' then
      highlights[#lines] = 'TandemAdded'
    elseif sign == '-' then
      highlights[#lines] = 'TandemRemoved'
    end
  end
  return lines, highlights, parts
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
  require('tandem.highlights').define()
  local buf = api.nvim_create_buf(false, true)
  pcall(api.nvim_buf_set_name, buf, ('tandem://%d/%s'):format(buf, name))
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].filetype = 'tandem'
  vim.bo[buf].undolevels = -1
  vim.bo[buf].modifiable = false
  -- Lines that go on hang below their text, see 'breakindentopt'.
  vim.bo[buf].formatlistpat = [[^\s*\%([-*▎▤⌕✎✕→❯⇣?•✻■!]\|\d\+[.)]\)\s\+]]
  pcall(vim.treesitter.start, buf, 'markdown')
  local self = setmetatable({ buf = buf, items = {}, calls = {}, blocks = {}, echo = '' }, Chat)
  self:keys()
  return self
end

-- Drawing ------------------------------------------------------------------------------------------

---@param item tandem.Item
---@return boolean
local function looks(item)
  local semantic = item.meta and item.meta.semantic or item.kind
  return item.type == 'call'
    and (semantic == 'read' or semantic == 'search')
    and (item.kind ~= 'execute' or item.meta ~= nil and item.meta.collapsible == true)
    and not item.asked
end

--- Whether two calls that follow each other are shown together.
---@param a tandem.Item
---@param b tandem.Item
---@return boolean
local function together(a, b)
  return looks(a) and looks(b)
end

---@alias tandem.Span {[1]: integer, [2]: integer, [3]: integer, [4]: string} line from 1, columns from 0, highlight

---@class tandem.Page
---@field lines string[]
---@field spans tandem.Span[]
---@field whole table<integer, string> highlights of whole lines

---@return tandem.Page
local function page()
  return { lines = {}, spans = {}, whole = {} }
end

--- Adds a line made of pieces of text, each with its highlight.
---@param p tandem.Page
---@param pieces {[1]: string, [2]?: string}[]
local function add(p, pieces)
  local line = ''
  for _, piece in ipairs(pieces) do
    if piece[2] and piece[1] ~= '' then
      table.insert(p.spans, { #p.lines + 1, #line, #line + #piece[1], piece[2] })
    end
    line = line .. piece[1]
  end
  p.lines[#p.lines + 1] = line
end

---@param text string
---@return string
local function one_line(text)
  return visible.line(vim.split(text, '\n', { plain = true })[1])
end

--- What a tool says that came of a call, without the marks of Markdown: its words behind the arrow.
---@param meta tandem.UpdateMeta
---@return string?
local function outcome(meta)
  local text = meta.render and meta.render.markdown and meta.render.markdown:match(' → (.*)$')
  return text and one_line((text:gsub('\\(%p)', '%1')))
end

--- What a tool shows of a call that this window has no other place for, as text: parts to be unfolded but for the output,
--- which stands there anyway, and widgets of a kind that is not known.
---@param item tandem.Item
---@return string[]
local function widgets(item)
  local out = {}
  for _, widget in ipairs(item.meta and item.meta.render and item.meta.render.widgets or {}) do
    local known = widget.type == 'progress' or widget.type == 'diff'
    if not known and not (widget.type == 'collapsible' and widget.title == 'Output') then
      local text = vim.trim((widget.title or '') .. '\n' .. (widget.markdown or ''))
      vim.list_extend(out, vim.split(text ~= '' and text or widget.type or '', '\n', { plain = true }))
    end
  end
  return vim.tbl_map(visible.line, out)
end

---@param item tandem.Item
---@return string? text what is to be said of the call beside its title
---@return string? highlight
local function remark(item)
  local meta = item.meta or {}
  if item.waiting then
    return 'waits for you', 'TandemWaiting'
  elseif item.status == 'failed' then
    local code = meta.error and meta.error:match('^EXIT_CODE_(.+)')
    return code and 'exit ' .. code or protocol.state(item.status, meta.phase, meta.error), 'TandemFailed'
  elseif item.status == 'in_progress' then
    for _, widget in ipairs(meta.render and meta.render.widgets or {}) do
      if widget.type == 'progress' and widget.value then
        return widget.total and ('%d/%d'):format(widget.value, widget.total) or tostring(widget.value), 'TandemRunning'
      end
    end
    local last = item.output and item.output:match('([^\r\n]*%S[^\r\n]*)%s*$')
    return last and 'running · ' .. vim.fn.strtrans(vim.fn.strcharpart(last, 0, 60)) or 'running', 'TandemRunning'
  elseif item.status == 'pending' then
    return 'coming', 'TandemWaiting'
  elseif item.kind ~= 'edit' and outcome(meta) then
    return outcome(meta), 'TandemDim'
  elseif item.kind ~= 'read' and item.kind ~= 'edit' and meta.summary then
    local summary = one_line(meta.summary)
    return summary ~= one_line(item.title) and summary or nil, 'TandemDim'
  end
end

--- Draws the line of a call. A closed fold shows one line of the screen: the title gives way to what stands behind it.
---@param p tandem.Page
---@param item tandem.Item
---@param indent string
---@param width integer
---@return boolean whole the title is there whole
local function draw_head(p, item, indent, width)
  local behind, used = {}, #indent + 2
  if item.unified then
    local added, removed = M.count(item.unified)
    behind[1] = { ('  +%d'):format(added), 'TandemAddedSign' }
    behind[2] = { (' −%d'):format(removed), 'TandemRemovedSign' }
  end
  local text, highlight = remark(item)
  if text and text ~= '' then
    behind[#behind + 1] = { '  ' .. vim.fn.strcharpart(text, 0, 40), highlight }
  end
  for _, piece in ipairs(behind) do
    used = used + vim.fn.strdisplaywidth(piece[1])
  end
  local title = one_line(item.title ~= '' and item.title or item.id)
  local room = math.max(width - used, 12)
  local whole = vim.fn.strdisplaywidth(title) <= room
  if not whole then
    title = vim.fn.strcharpart(title, 0, room - 1) .. '…'
  end
  local icon = { ICONS[item.kind] or ICONS.other, STATE_HIGHLIGHT[item.status] }
  add(p, vim.list_extend({ { indent }, icon, { ' ' .. title } }, behind))
  return whole
end

---@param p tandem.Page
---@param lines string[]
---@param highlights table<integer, string>
---@param keep_end boolean
local function draw_body(p, lines, highlights, keep_end, parts)
  local skip = math.max(#lines - MAX_BODY, 0)
  local first, last = 1, #lines - skip
  if keep_end then
    first, last = skip + 1, #lines
    if skip > 0 then
      add(p, { { ('%s… %d lines before these'):format(INDENT, skip), 'TandemDim' } })
    end
  end
  for i = first, last do
    p.lines[#p.lines + 1] = INDENT .. lines[i]
    p.whole[#p.lines] = highlights[i]
    for _, part in ipairs(parts and parts[i] or {}) do
      table.insert(p.spans, { #p.lines, #INDENT + part[1], #INDENT + part[2], part[3] })
    end
  end
  if skip > 0 and not keep_end then
    add(p, { { ('%s… and %d lines more'):format(INDENT, skip), 'TandemDim' } })
  end
end

---@param text string
---@return string[]
local function printed(text)
  return vim.tbl_map(function(line)
    return visible.line((line:gsub('\r$', '')))
  end, vim.split((text:gsub('\n$', '')), '\n', { plain = true }))
end

--- Whether a call has come to nothing and there is nothing to be said of it but why.
---@param item tandem.Item
---@return boolean
local function came_to_nothing(item)
  return item.type == 'call' and item.status == 'failed' and item.kind ~= 'execute' and not item.unified
end

---@param p tandem.Page
---@param item tandem.Item
---@param width integer
local function draw_call(p, item, width)
  local whole = draw_head(p, item, '', width)
  if came_to_nothing(item) then
    local why = item.meta.summary or (item.meta.error and protocol.failure(item.meta.error, item.meta.reason))
    for _, line in ipairs(why and printed(why) or {}) do
      add(p, { { INDENT .. line, 'TandemDim' } })
    end
    return
  end
  local command = item.input and item.input.command
  if type(command) == 'string' and (command:find('\n') or not whole) then
    draw_body(p, printed(command), {}, false)
  end
  draw_body(p, widgets(item), {}, false)
  if item.unified then
    local lines, highlights, parts = M.diff_lines(item.unified, item.changed)
    draw_body(p, lines, highlights, false, parts)
    return
  end
  local text = item.content or item.output
  if text and text:find('%S') and not looks(item) then
    local highlights = {}
    local lines = printed(text)
    for i = 1, #lines do
      highlights[i] = 'TandemOutput'
    end
    draw_body(p, lines, highlights, true)
  end
end

---@param n integer calls that did not fail
---@return string
local function looked(n)
  return n == 0 and ' Looked at nothing' or (' Looked at %d thing%s'):format(n, n == 1 and '' or 's')
end

---@param p tandem.Page
---@param items tandem.Item[]
---@param width integer
local function draw_group(p, items, width)
  local titles, worst, failed = {}, 'completed', 0
  for i, item in ipairs(items) do
    titles[i] = one_line(item.title ~= '' and item.title or item.id)
    failed = failed + (item.status == 'failed' and 1 or 0)
    if item.status ~= 'completed' and worst ~= 'failed' then
      worst = item.status
    end
  end
  add(p, {
    { ICONS.read, STATE_HIGHLIGHT[worst] },
    { looked(#items - failed) },
    { failed > 0 and (', %d failed'):format(failed) or '', STATE_HIGHLIGHT.failed },
    { '  ' .. table.concat(titles, ', '), 'TandemDim' },
  })
  for _, item in ipairs(items) do
    draw_head(p, item, INDENT, width)
  end
end

local TASKS = {
  completed = { '✓', 'TandemDone' },
  in_progress = { '▸', 'TandemRunning' },
  pending = { '○', 'TandemDim' },
}

--- Draws the model's tasks: how many are done, and a line for each.
---@param p tandem.Page
---@param entries tandem.PlanEntry[]
local function draw_plan(p, entries)
  local done = 0
  for _, entry in ipairs(entries) do
    done = done + (entry.status == 'completed' and 1 or 0)
  end
  add(p, { { ('☰ Plan: %d of %d done'):format(done, #entries), 'TandemThought' } })
  for _, entry in ipairs(entries) do
    local mark = TASKS[entry.status] or TASKS.pending
    local content = one_line(entry.content or '')
    add(p, { { INDENT }, mark, { ' ' .. content, entry.status == 'completed' and 'TandemDim' or nil } })
  end
end

---@param block tandem.Block
---@param width integer
---@return tandem.Page
local function draw(block, width)
  local p, item = page(), block.items[1]
  if item.type == 'call' then
    if #block.items > 1 then
      draw_group(p, block.items, width)
    else
      draw_call(p, item, width)
    end
    return p
  end
  local lines = vim.split(item.text or '', '\n', { plain = true })
  if item.type == 'thought' then
    local head = vim.fn.strcharpart(one_line(lines[1]), 0, 72)
    add(p, { { '✻ ', 'TandemThought' }, { head, 'TandemThought' } })
    if #lines > 1 or #lines[1] > #head then
      for _, line in ipairs(lines) do
        add(p, { { INDENT .. line, 'TandemThought' } })
      end
    end
  elseif item.type == 'plan' then
    draw_plan(p, item.entries)
  elseif item.role == 'user' then
    for i, line in ipairs(lines) do
      -- What went along, as a session that goes on tells it.
      local along = i == #lines and i > 1 and line:find('^Attached: @')
      add(p, { { '▎ ', 'TandemPromptBar' }, { line, along and 'TandemDim' or nil } })
      p.whole[#p.lines] = 'TandemPrompt'
    end
    if item.added then
      add(p, { { '▎ ', 'TandemPromptBar' }, { 'added; the model gets it with its next request', 'TandemDim' } })
    end
  elseif item.type == 'message' then
    local open_fence = false
    for _, line in ipairs(lines) do
      add(p, { { line } })
      open_fence = open_fence ~= (line:find('^ ? ? ?```') ~= nil)
    end
    if open_fence and not item.open then
      add(p, { { '```' } }) -- otherwise all that follows would be code
    end
  else
    local icon = ({ ending = '■ ', notice = '! ', info = '' })[item.type]
    for i, line in ipairs(lines) do
      add(p, { { (i == 1 and icon or '') .. line, item.highlight or 'TandemDim' } })
    end
  end
  return p
end

---@param block tandem.Block
---@return integer
local function height(block)
  return block.gap + #block.lines
end

--- The row of a block's first line, without the gap before it.
---@private
---@param index integer
---@return integer
function Chat:row(index)
  local row = api.nvim_buf_line_count(self.buf)
  for i = #self.blocks, index, -1 do
    row = row - height(self.blocks[i])
  end
  return row + self.blocks[index].gap
end

---@private
---@param fn fun(window: integer)
function Chat:each_window(fn)
  for _, window in ipairs(vim.fn.win_findbuf(self.buf)) do
    api.nvim_win_call(window, function()
      fn(window)
    end)
  end
end

--- Makes lines of the window's buffer a closed fold.
---@param row integer
---@param count integer
local function fold(row, count)
  vim.cmd(('silent %d,%dfold'):format(row + 1, row + count))
end

--- Takes away the folds that begin on a line of the window's buffer.
---@param row integer
local function unfold(row)
  local view = vim.fn.winsaveview()
  api.nvim_win_set_cursor(0, { row + 1, 0 })
  vim.cmd('silent! normal! zD')
  vim.fn.winrestview(view)
end

--- Changes the buffer and keeps windows that stood at its end at its end.
---@private
---@param fn fun()
function Chat:change(fn)
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
  local ok, err = pcall(fn)
  vim.bo[self.buf].modifiable = false
  count = api.nvim_buf_line_count(self.buf)
  for _, window in ipairs(following) do
    api.nvim_win_set_cursor(window, { count, 0 })
  end
  if not ok then
    error(err, 0)
  end
end

--- The columns for text in the narrowest window of the chat.
---@private
---@return integer
function Chat:width()
  local width
  for _, window in ipairs(vim.fn.win_findbuf(self.buf)) do
    local info = vim.fn.getwininfo(window)[1]
    width = math.min(width or info.width, info.width - info.textoff)
  end
  return math.max(width or 80, 30)
end

--- Draws a block anew. Only the lines that differ are touched; its fold stays open where it was open.
---@private
---@param index integer
function Chat:redraw(index)
  local block = self.blocks[index]
  local old, p = block.lines, draw(block, self:width())
  local new = p.lines
  local row = self:row(index)
  local folds = M.folds(block) and (#old > 1 or #new > 1) and not vim.deep_equal(old, new)
  local open = {}
  if folds and #old > 1 then
    self:each_window(function(window)
      open[window] = vim.fn.foldclosed(row + 1) == -1
      unfold(row)
    end)
  end
  local max, same, tail = math.min(#old, #new), 0, 0
  while same < max and old[same + 1] == new[same + 1] do
    same = same + 1
  end
  while tail < max - same and old[#old - tail] == new[#new - tail] do
    tail = tail + 1
  end
  api.nvim_buf_set_lines(
    self.buf,
    row + same,
    row + #old - tail,
    true,
    vim.list_slice(new, same + 1, #new - tail)
  )
  block.lines = new
  api.nvim_buf_clear_namespace(self.buf, namespace, row, row + #new)
  for _, span in ipairs(p.spans) do
    local line = row + span[1] - 1
    api.nvim_buf_set_extmark(self.buf, namespace, line, span[2], { end_col = span[3], hl_group = span[4] })
  end
  for i, group in pairs(p.whole) do
    api.nvim_buf_set_extmark(self.buf, namespace, row + i - 1, 0, { line_hl_group = group })
  end
  if folds and #new > 1 then
    self:each_window(function(window)
      fold(row, #new)
      if open[window] then
        vim.cmd(('silent %dfoldopen'):format(row + 1))
      end
    end)
  end
end

---@param block tandem.Block
---@return boolean
function M.folds(block)
  local first = block.items[1]
  return first.type == 'thought' or (first.type == 'call' and (#block.items > 1 or not came_to_nothing(first)))
end

--- Whether a block stands close below another one: what is said goes apart from what is done.
---@param above? tandem.Item
---@param item tandem.Item
---@return boolean
local function close_below(above, item)
  return above == nil or (above.type ~= 'message' and item.type ~= 'message')
end

--- Adds an item, as a block or to the group at the end, and draws it.
---@private
---@param item tandem.Item
function Chat:append(item)
  self.items[#self.items + 1] = item
  if self.holding then
    return
  end
  self:change(function()
    if self.welcome then
      api.nvim_buf_set_lines(self.buf, 0, -1, true, {})
      api.nvim_buf_clear_namespace(self.buf, namespace, 0, -1)
      self.welcome = nil
    end
    local last = self.blocks[#self.blocks]
    if last and together(last.items[#last.items], item) then
      table.insert(last.items, item)
      return self:redraw(#self.blocks)
    end
    local gap = close_below(last and last.items[1], item) and 0 or 1
    table.insert(self.blocks, { items = { item }, gap = 0, lines = {} })
    if #self.blocks == 1 then
      -- The one line of an empty buffer becomes the block's.
      self.blocks[1].lines = { '' }
    elseif gap == 1 then
      local row = self:row(#self.blocks)
      api.nvim_buf_set_lines(self.buf, row, row, true, { '' })
      self.blocks[#self.blocks].gap = 1
    end
    self:redraw(#self.blocks)
  end)
end

--- Draws the block of an item anew.
---@private
---@param item tandem.Item
function Chat:touch(item)
  if self.holding then
    return
  end
  for index = #self.blocks, 1, -1 do
    if vim.list_contains(self.blocks[index].items, item) then
      return self:change(function()
        self:redraw(index)
      end)
    end
  end
end

--- Takes an item of one block away.
---@private
---@param item tandem.Item
function Chat:remove(item)
  for i, other in ipairs(self.items) do
    if other == item then
      table.remove(self.items, i)
      break
    end
  end
  for index, block in ipairs(self.blocks) do
    if block.items[1] == item then
      return self:change(function()
        local row = self:row(index) - block.gap
        api.nvim_buf_set_lines(self.buf, row, row + height(block), true, {})
        table.remove(self.blocks, index)
        local below = self.blocks[index]
        local above = self.blocks[index - 1]
        local wanted = below and (close_below(above and above.items[1], below.items[1]) and 0 or 1)
        if below and below.gap ~= wanted then
          row = self:row(index) - below.gap
          api.nvim_buf_set_lines(self.buf, row, row + below.gap, true, wanted == 1 and { '' } or {})
          below.gap = wanted
        end
      end)
    end
  end
end

--- Draws what fn adds to an empty chat at its end, as it is by then.
---@param fn fun()
function Chat:together(fn)
  self.holding = true
  local ok, err = pcall(fn)
  self.holding = nil
  local items = self.items
  self.items = {}
  for _, item in ipairs(items) do
    self:append(item)
  end
  if not ok then
    error(err, 0)
  end
end

-- What happens -------------------------------------------------------------------------------------

--- Begins a session: ids of calls from before mean nothing any more.
function Chat:begin()
  self.calls = {}
end

--- Empties the chat for a new session.
function Chat:clear()
  self.items, self.calls, self.blocks, self.echo, self.plan = {}, {}, {}, '', nil
  self:change(function()
    self:each_window(function()
      vim.cmd('silent! normal! zE')
    end)
    api.nvim_buf_set_lines(self.buf, 0, -1, true, {})
    api.nvim_buf_clear_namespace(self.buf, namespace, 0, -1)
  end)
end

--- Says how to begin, where nothing has been said yet.
---@param lines {[1]: string, [2]?: string}[][]
function Chat:greet(lines)
  if #self.blocks > 0 then
    return
  end
  self.welcome = true
  self:change(function()
    local p = page()
    for _, pieces in ipairs(lines) do
      add(p, pieces)
    end
    api.nvim_buf_set_lines(self.buf, 0, -1, true, p.lines)
    api.nvim_buf_clear_namespace(self.buf, namespace, 0, -1)
    for _, span in ipairs(p.spans) do
      local options = { end_col = span[3], hl_group = span[4] }
      api.nvim_buf_set_extmark(self.buf, namespace, span[1] - 1, span[2], options)
    end
  end)
end

--- Ends the text that is open, and gives back the item at the end.
---@private
---@return tandem.Item?
function Chat:close_text()
  local last = self.items[#self.items]
  if last and last.open then
    last.open = false
    self:touch(last)
  end
  return last
end

---@param text string
function Chat:asked(text)
  self:close_text()
  self.echo = text
  self:append({ type = 'message', role = 'user', text = text })
end

--- Shows what was said to the running turn. It takes its place in the conversation when the model gets it.
---@param text string
---@return tandem.Item
function Chat:added(text)
  self:close_text()
  local item = { type = 'message', role = 'user', text = text, added = true }
  self:append(item)
  return item
end

--- Takes away the first of those that still wait for the model, or the one that is given.
---@param item? tandem.Item
function Chat:taken(item)
  item = item or vim.iter(self.items):find(function(other)
    return other.added
  end)
  if item and item.added then
    item.added = nil
    self:remove(item)
  end
end

---@private
---@param type 'message'|'thought'
---@param role? 'user'|'agent'
---@param text string
function Chat:stream(type, role, text)
  if text == '' then
    return
  end
  local last = self.items[#self.items]
  if last and last.open and last.type == type and last.role == role then
    last.text = last.text .. text
    return self:touch(last)
  end
  self:close_text()
  self:append({ type = type, role = role, text = text, open = true })
end

--- Says something that is neither the person's nor the model's.
---@param text string
---@param highlight? string
function Chat:note(text, highlight)
  self:close_text()
  self:append({ type = 'info', text = text, highlight = highlight })
end

--- Something that the server says beside the conversation.
---@private
---@param text string
function Chat:notice(text)
  self:close_text()
  self:append({ type = 'notice', text = text, highlight = 'TandemNotice' })
end

---@param content any
---@param item tandem.Item
local function take_content(content, item)
  if not vim.islist(content) then
    return
  end
  local unified, text, changed, before = {}, {}, {}, 0
  for _, part in ipairs(content) do
    if part.type == 'diff' then
      local diff = vim.tbl_get(part, '_meta', 'tandem', 'unified')
      for _, span in ipairs(diff and vim.tbl_get(part, '_meta', 'tandem', 'spans') or {}) do
        changed[#changed + 1] = { line = before + span.line, start = span.start, ['end'] = span['end'] }
      end
      unified[#unified + 1] = diff
      before = before + select(2, (diff or ''):gsub('\n', ''))
    elseif type(part.content) == 'table' and part.content.text then
      text[#text + 1] = part.content.text
    elseif type(part.content) == 'table' and part.content.type == 'image' then
      text[#text + 1] = ('[image: %s, %d bytes]'):format(part.content.mimeType or '', math.floor(#(part.content.data or '') * 3 / 4))
    end
  end
  item.unified, item.changed = #unified > 0 and table.concat(unified) or nil, changed
  item.content = #text > 0 and table.concat(text, '\n') or nil
end

--- Shows a tool call, or what has become of it.
---@param update tandem.Update a `tool_call` or `tool_call_update`
function Chat:call(update)
  local item = self.calls[update.toolCallId]
  local new = item == nil
  if not item then
    self:close_text()
    item = { type = 'call', id = update.toolCallId, title = '', kind = 'other', status = 'pending', meta = {} }
    self.calls[item.id] = item
  end
  local meta = vim.tbl_get(update, '_meta', 'tandem') or {}
  item.title = (update.title and update.title ~= '') and update.title or item.title
  item.kind = update.kind or item.kind
  item.status = update.status or item.status
  item.locations = update.locations or item.locations
  item.input = type(update.rawInput) == 'table' and update.rawInput or item.input
  if meta.late then -- it has not failed after all
    item.meta.error, item.meta.summary, item.meta.reason, item.content = nil, nil, nil, nil
  end
  if meta.phase ~= 'grouped' then
    item.meta = vim.tbl_extend('force', item.meta, meta)
  end
  if meta.output then
    item.output = (item.output or '') .. meta.output
    if #item.output > 100000 then
      item.output = item.output:sub(-50000):gsub('^[^\n]*\n', '')
    end
  end
  take_content(update.content, item)
  if new then
    self:append(item)
  else
    self:touch(item)
  end
end

--- Notes that a person is asked about a call, or no longer.
---@param id string
---@param waiting boolean
function Chat:asking(id, waiting)
  local item = self.calls[id]
  if item and item.waiting ~= waiting then
    item.asked, item.waiting = true, waiting
    self:touch(item)
  end
end

--- Takes in what a session tells.
---@param update tandem.Update
function Chat:update(update)
  local kind = update.sessionUpdate
  local text = type(update.content) == 'table' and update.content.text or ''
  if kind == 'agent_message_chunk' then
    self.echo = ''
    self:stream('message', 'agent', text)
  elseif kind == 'agent_thought_chunk' then
    self.echo = ''
    self:stream('thought', nil, text)
  elseif kind == 'user_message_chunk' then
    if self.echo ~= '' and vim.startswith(self.echo, text) then
      self.echo = self.echo:sub(#text + 1)
    else
      self:taken()
      self:close_text() -- two messages are not one
      self:stream('message', 'user', text)
    end
  elseif kind == 'tool_call' or kind == 'tool_call_update' then
    self.echo = ''
    self:call(update)
  elseif kind == 'plan' then
    self:show_plan(update.entries or {})
  elseif kind == 'notice' and text ~= '' then
    self:notice(text)
  end
end

--- Shows the model's tasks, in one place: below all that was said and done when they changed last.
---@private
---@param entries tandem.PlanEntry[]
function Chat:show_plan(entries)
  local old = self.plan
  if old and #entries > 0 and self.items[#self.items] == old then
    old.entries = entries
    return self:touch(old)
  end
  if old then
    self:remove(old)
  end
  self.plan = #entries > 0 and { type = 'plan', entries = entries } or nil
  if self.plan then
    self:close_text()
    self:append(self.plan)
  end
end

--- What no turn carries on any more: open text, and calls without an end.
function Chat:settle()
  self.echo = ''
  self:close_text()
  for _, item in pairs(self.calls) do
    if item.waiting or item.status == 'pending' or item.status == 'in_progress' then
      item.waiting = false
      if item.status ~= 'completed' and item.status ~= 'failed' then
        item.status = 'failed'
        item.meta.error = item.meta.error or 'CANCELLED'
      end
      self:touch(item)
    end
  end
end

--- The end of a turn.
---@param reason string
---@param message? string
function Chat:ended(reason, message)
  self:settle()
  if reason == 'end_turn' then
    return
  end
  local last, block = self.items[#self.items], self.blocks[#self.blocks]
  if message and last and last.type == 'notice' and last.text == message and block.items[1] == last then
    -- A failure also comes as a notice: it is said once, in its place.
    last.type, last.reason, last.highlight = 'ending', reason, 'TandemFailed'
    return self:touch(last)
  end
  local text = message or protocol.ending(reason)
  local highlight = (reason == 'error' or reason == 'lost') and 'TandemFailed' or 'TandemDim'
  self:append({ type = 'ending', reason = reason, text = text, highlight = highlight })
end

-- The window ---------------------------------------------------------------------------------------

--- The call that is shown on a line of the chat.
---@param line integer from 1
---@return tandem.Item?
function Chat:call_at(line)
  for index = #self.blocks, 1, -1 do
    local block = self.blocks[index]
    local row = self:row(index)
    if line - 1 >= row then
      if block.items[1].type ~= 'call' or line - 1 >= row + #block.lines then
        return nil
      end
      return #block.items > 1 and block.items[line - 1 - row] or block.items[1]
    end
  end
end

--- Shows what the call under the cursor was given and what came of it.
function Chat:details()
  local item = self:call_at(api.nvim_win_get_cursor(0)[1])
  if not item then
    return
  end
  local lines = { ('**%s**'):format(one_line(item.title)), '' }
  local names = vim.tbl_keys(not item.unified and item.input or {}) -- the diff says it better
  table.sort(names)
  for _, name in ipairs(names) do
    local value = item.input[name]
    local given = printed(type(value) == 'string' and value or vim.json.encode(value))
    lines[#lines + 1] = ('**%s** %s'):format(name, #given == 1 and given[1] or '')
    for i = 1, #given > 1 and #given or 0 do
      lines[#lines + 1] = INDENT .. given[i]
    end
  end
  lines[#lines + 1] = ''
  local text = item.unified or item.content or item.output or ''
  lines[#lines + 1] = item.unified and '````diff' or '````text'
  vim.list_extend(lines, vim.list_slice(printed(text), 1, MAX_BODY))
  lines[#lines + 1] = '````'
  vim.lsp.util.open_floating_preview(lines, 'markdown', { border = 'rounded', max_width = 100, max_height = 30 })
end

--- Goes to the file that the call under the cursor is about, or opens and closes its fold.
function Chat:enter()
  local item = self:call_at(api.nvim_win_get_cursor(0)[1])
  local location = item and item.locations and item.locations[1]
  local stat = location and vim.uv.fs_stat(location.path)
  if not stat or stat.type ~= 'file' then
    return pcall(vim.cmd.normal, { 'za', bang = true })
  end
  local window = M.other_window()
  if not window then
    vim.cmd('leftabove vsplit')
    window = api.nvim_get_current_win()
  end
  api.nvim_set_current_win(window)
  vim.cmd.edit(vim.fn.fnameescape(location.path))
  if location.line then
    local line = math.min(math.max(location.line, 1), api.nvim_buf_line_count(0))
    api.nvim_win_set_cursor(window, { line, 0 })
  end
end

--- A window of this tab page in which files are edited; the one before the present one first.
---@return integer?
function M.other_window()
  local windows = { vim.fn.win_getid(vim.fn.winnr('#')) }
  vim.list_extend(windows, api.nvim_tabpage_list_wins(0))
  for _, window in ipairs(windows) do
    if window ~= 0 and api.nvim_win_get_config(window).relative == '' then
      local buf = api.nvim_win_get_buf(window)
      if vim.bo[buf].buftype == '' then
        return window
      end
    end
  end
end

---@private
function Chat:keys()
  local function map(key, fn, description)
    vim.keymap.set('n', key, fn, { buffer = self.buf, desc = description, nowait = true })
  end
  local function ask()
    require('tandem').prompt()
  end
  for _, key in ipairs({ 'i', 'a', 'o', 'I', 'A', 'O' }) do
    map(key, ask, 'Ask the agent')
  end
  map('<CR>', function()
    self:enter()
  end, 'Go to the file of the call, or open its fold')
  map('<Tab>', function()
    pcall(vim.cmd.normal, { 'za', bang = true })
  end, 'Open or close the fold')
  map('K', function()
    self:details()
  end, 'Show what the call was given and what came of it')
  map('<C-c>', function()
    require('tandem').cancel()
  end, 'End the running turn')
  map(']]', function()
    vim.fn.search('^▎', 'W')
  end, 'Next prompt')
  map('[[', function()
    vim.fn.search('^▎', 'bW')
  end, 'Previous prompt')
  map('q', '<Cmd>close<CR>', 'Close the chat')
  map('g?', '<Cmd>help tandem-chat<CR>', 'Help')
end

--- Opens the chat beside the present window, which keeps the cursor.
function Chat:open()
  for _, window in ipairs(vim.fn.win_findbuf(self.buf)) do
    if api.nvim_win_get_tabpage(window) == api.nvim_get_current_tabpage() then
      return
    end
  end
  local config = require('tandem.config').get()
  local upright = config.chat_position == 'left' or config.chat_position == 'right'
  local share = math.floor((upright and vim.o.columns or vim.o.lines) * config.chat_size)
  local window = api.nvim_open_win(self.buf, false, {
    split = config.chat_position,
    win = -1,
    [upright and 'width' or 'height'] = math.max(share, 1),
  })
  local options = vim.wo[window][0]
  options.wrap, options.linebreak, options.number, options.relativenumber = true, true, false, false
  options.breakindent, options.breakindentopt = true, 'list:2'
  options.signcolumn, options.foldcolumn, options.list = 'no', '1', false
  options.foldmethod, options.foldenable, options.foldtext, options.foldlevel = 'manual', true, '', 0
  options.fillchars = 'fold: ,foldopen:▾,foldclose:▸,foldsep: '
  options.conceallevel, options.concealcursor, options.cursorline = 2, 'n', false
  options.winfixwidth, options.winfixheight = upright, not upright
  options.winbar = "%{%v:lua.require'tandem.status'.winbar()%}"
  api.nvim_win_call(window, function()
    vim.cmd('silent! normal! zE')
    for index, block in ipairs(self.blocks) do
      if #block.lines > 1 and M.folds(block) then
        fold(self:row(index), #block.lines)
      end
    end
  end)
  api.nvim_win_set_cursor(window, { api.nvim_buf_line_count(self.buf), 0 })
end

return M
